"""The door of the command line: `crest`, or `python -m crest`. It opens without the lab too."""

import sys

from crest._base.extras import missing_extra


def command_line() -> None:
    """Run the command line; if its packages are missing, say which extra brings them."""
    try:
        from crest.lab.cli import main  # noqa: PLC0415, else its absence could not be told
    except ModuleNotFoundError as error:
        if (error.name or "crest").partition(".")[0] == "crest":
            raise
        sys.exit(f"crest: {missing_extra('the command line', error.name, 'lab')}")
    main()


if __name__ == "__main__":
    command_line()
