"""`python -m crest` is the command line."""

from crest.lab.cli import main

main()
