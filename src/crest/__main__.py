"""The door of the command line: `crest`, or `python -m crest`. It opens where the lab is not installed, too."""

import sys


def command_line() -> None:
    """Run the command line; where its packages are missing, say which extra brings them."""
    try:
        from crest.lab.cli import main  # noqa: PLC0415, else its absence could not be told
    except ModuleNotFoundError as error:
        if (error.name or "crest").partition(".")[0] == "crest":
            raise
        sys.exit(f"crest: the command line needs {error.name}: pip install 'crest-readout[lab]'")
    main()


if __name__ == "__main__":
    command_line()
