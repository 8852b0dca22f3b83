import os
import re
import warnings
from pathlib import Path

import pytest

from crest._base.callers import warn_of_replacing
from crest.lab.cli.output import replaced_note, replacing, require_output, require_place

ENDINGS = (".html", ".md")


def test_a_file_in_folders_that_can_be_made_is_taken(tmp_path: Path) -> None:
    require_output("output", tmp_path / "a" / "b" / "page.HTML", ENDINGS)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").mkdir()
    (tmp_path / "file").touch()
    for place, words in {
        "page": "end in .html or .md",
        "page.md": "be a file, got the folder",
        "file/page.md": "be in a folder, got the file",
        "file/deep/page.md": "be in a folder, got the file",
    }.items():
        with pytest.raises(ValueError, match=rf"^output must {re.escape(words)}"):
            require_output("output", tmp_path / place, ENDINGS)
    # Whoever is root may write everywhere, so the right is taken away here.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ValueError, match=r"^output must be in a folder that you may write to, got '.*'$"):
        require_place("output", tmp_path / "new")


def test_a_file_that_is_there_is_told(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    assert replaced_note(place) == ""
    place.touch()
    assert replaced_note(place) == " (replaces the file that was there)"


def test_a_command_says_itself_what_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text("")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with replacing(page) as note:
            warn_of_replacing(page)
    assert note == replaced_note(page) != ""
