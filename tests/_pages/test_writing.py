"""A page comes into its file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from crest._pages.writing import write_page


def test_it_replaces_what_is_there(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    place.write_text("old")
    with pytest.warns(UserWarning, match=r"page\.html"):
        assert write_page(place, lambda: lambda: "né") == place
    assert place.read_text("utf-8") == "né"


def test_a_missing_package_is_told_with_its_extra(tmp_path: Path) -> None:
    def maker() -> Callable[[], str]:
        raise ImportError(name="jinja2")

    with pytest.raises(ImportError, match=r"jinja2[\s\S]*lab"):
        write_page(tmp_path / "page.html", maker)
    with pytest.raises(ValueError, match=r"^path must end in \.html, got 'page\.pdf'"):
        write_page("page.pdf", maker)
    assert not list(tmp_path.iterdir())


def test_an_import_that_fails_while_the_page_is_made_is_no_missing_extra(tmp_path: Path) -> None:
    def page() -> str:
        raise ImportError("of the model's own code")

    with pytest.raises(ImportError, match=r"^of the model's own code$"):
        write_page(tmp_path / "page.html", lambda: page)
    assert not list(tmp_path.iterdir())
