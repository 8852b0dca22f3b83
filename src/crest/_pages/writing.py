"""How a page comes into a file."""

from collections.abc import Callable
from pathlib import Path

from crest._base.callers import warn_of_replacing
from crest._base.extras import missing_extra
from crest._base.files import whole_file


def write_page(path: str | Path, maker: Callable[[], Callable[[], str]]) -> Path:
    """Write a page and return where it is; a file of that name is replaced as a whole, and a warning says so.

    Args:
        path: of the file, which ends in .html.
        maker: imports what makes the text, and returns that. A package that is missing here is told with its extra.
    """
    place = Path(path)
    if place.suffix.lower() != ".html":
        raise ValueError(f"path must end in .html, got {str(path)!r}")
    try:
        page = maker()
    except ImportError as missing:
        raise ImportError(missing_extra("to_html", missing.name, "lab")) from missing
    text = page()
    warn_of_replacing(place)
    with whole_file(place) as file:
        file.write(text.encode())
    return place
