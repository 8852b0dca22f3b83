"""Who is told what a repair does."""

import io
import re
import sys
from typing import Any

import pytest

from crest._repair import telling as module
from crest._repair.telling import telling


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal is sent."""
    return shown_on(monkeypatch, force_terminal=True)


def shown_on(monkeypatch: pytest.MonkeyPatch, **options: Any) -> io.StringIO:
    console, out = pytest.importorskip("rich.console"), io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    made = console.Console(file=out, width=100, **options)
    monkeypatch.setattr(module, "_console", lambda: made)
    return out


def lines(out: io.StringIO) -> list[str]:
    """What stood there, one after the other, without control characters."""
    found = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue()))
    return [line.strip() for line in found if line.strip()]


def test_a_function_is_told_every_sentence() -> None:
    told: list[str] = []
    with telling(told.append, 2) as say:
        say("begun", "AC coupling", "training")
        say("done", "AC coupling", "ID error 0.1")
    assert told == ["AC coupling: training", "AC coupling: ID error 0.1"]


@pytest.mark.parametrize("tell", [None, False])
def test_without_one_nothing_is_printed(tell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with telling(tell, 2) as say:
        assert say("begun", "AC coupling", "training") is None
    assert capsys.readouterr() == ("", "")


def test_a_bar_counts_what_is_done_and_not_what_begins(terminal: io.StringIO) -> None:
    with telling(True, 2) as say:
        say("given", "as it is", "ID error 0.3")
        say("begun", "AC coupling", "training")
        say("done", "AC coupling", "ID error 0.1, 2.0 s (1 of 2)")
        say("begun", "CREST", "training")
    assert "1/2" in terminal.getvalue()
    assert "2/2" not in terminal.getvalue()
    assert lines(terminal)[-1].startswith("CREST ")


def test_a_bar_names_all_that_are_trained_side_by_side(terminal: io.StringIO) -> None:
    with telling(True, 2) as say:
        say("begun", "AC coupling", "training")
        say("begun", "CREST", "training")
    assert any(line.startswith("AC coupling, CREST ") for line in lines(terminal))
    with telling(True, 2) as say:
        say("begun", "AC coupling", "training")
        say("begun", "CREST", "training")
        say("done", "CREST", "It failed: RuntimeError: no")
        say("done", "AC coupling", "ID error 0.1, 2.0 s (2 of 2)")
    assert "2/2" in terminal.getvalue()


@pytest.mark.parametrize("name", ["training more", "front: mine", "as it is: not", "[red]", "a at a time"])
def test_any_name_is_counted_once_and_shown_as_it_is(terminal: io.StringIO, name: str) -> None:
    with telling(True, 2) as say:
        say("begun", name, "training")
        say("done", name, "fitting was: ID error 0.1, 2.0 s (1 of 2)")
    assert "1/2" in terminal.getvalue()
    assert "2/2" not in terminal.getvalue()
    assert lines(terminal)[-1].startswith(f"{name} ")


def test_the_time_that_is_left_is_known_after_the_first_of_slow_candidates(
    monkeypatch: pytest.MonkeyPatch, terminal: io.StringIO
) -> None:
    """Of which none ends within the 30 seconds that count by default."""
    progress, now = pytest.importorskip("rich.progress"), [0.0]
    plain = progress.Progress
    monkeypatch.setattr(
        progress, "Progress", lambda *columns, **options: plain(*columns, get_time=lambda: now[0], **options)
    )
    with telling(True, 3) as say:
        for name in ("AC coupling", "CREST"):
            say("begun", name, "training")
            now[0] += 600
            say("done", name, "ID error 0.1")
            say("begun", "last", "training")
            now[0] += 1
    shown = " ".join(lines(terminal))
    assert "2/3 0:10:01" in shown


@pytest.mark.parametrize("options", [{}, {"force_terminal": True, "_environ": {"TERM": "dumb"}}])
def test_where_there_is_no_room_for_a_bar_sentences_are_printed(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    out = shown_on(monkeypatch, **options)
    with telling(True, 1) as say:
        say("begun", "AC [red] coupling", "training")
        say("done", "AC [red] coupling", "ID error 0.1, 2.0 s (1 of 1)")
    assert out.getvalue() == "AC [red] coupling: training\nAC [red] coupling: ID error 0.1, 2.0 s (1 of 1)\n"


def test_without_rich_a_bar_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    with (
        pytest.raises(ImportError, match=r"^tell=True needs rich\. Install the extra lab: "),
        telling(True, 1),
    ):
        pass
