"""Who is told what a repair does."""

import io
import sys
from typing import Any

import pytest

from crest._repair import telling as module
from crest._repair.telling import telling


def test_a_function_is_told_every_sentence() -> None:
    told: list[str] = []
    with telling(told.append, 2) as say:
        say("AC coupling: training")
        say("AC coupling: ID error 0.1")
    assert told == ["AC coupling: training", "AC coupling: ID error 0.1"]


@pytest.mark.parametrize("tell", [None, False])
def test_without_one_nothing_is_printed(tell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with telling(tell, 2) as say:
        assert say("AC coupling: training") is None
    assert capsys.readouterr() == ("", "")


def test_a_bar_counts_what_is_done_and_not_what_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    console = pytest.importorskip("rich.console")
    out = io.StringIO()
    monkeypatch.setattr(module, "_console", lambda: console.Console(file=out, force_terminal=True, width=100))
    with telling(True, 2) as say:
        say("as it is: ID error 0.3")
        say("AC coupling: training")
        say("AC coupling: ID error 0.1, 2.0 s (1 of 2)")
        say("CREST: training")
    assert "1/2" in out.getvalue()
    assert "2/2" not in out.getvalue()
    out.truncate(0)
    with telling(True, 2) as say:
        say("training 2 candidates, 2 at a time: AC coupling, CREST")
        say("CREST: It failed: RuntimeError: no")
        say("AC coupling: ID error 0.1, 2.0 s (2 of 2)")
    assert "2/2" in out.getvalue()


def test_a_candidate_named_after_training_is_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    console = pytest.importorskip("rich.console")
    out = io.StringIO()
    monkeypatch.setattr(module, "_console", lambda: console.Console(file=out, force_terminal=True, width=100))
    with telling(True, 1) as say:
        say("training more: training")
        say("training more: ID error 0.1, 2.0 s (1 of 1)")
    assert "1/1" in out.getvalue()


def test_without_rich_a_bar_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(ImportError, match=r"^tell=True needs rich: pip install"), telling(True, 1):
        pass
