"""`python -m crest` is the command line."""

from crest.cli import main

main()
