import errno
from pathlib import Path
from typing import Annotated

import pytest
from cyclopts import App, Parameter

from crest.lab import cli
from crest.lab.cli.wording import Behind, in_words_of, spellings


def command(
    *names: Annotated[str, Behind("name")],
    sample_rate: float = 1.0,
    data: Annotated[Path | None, Behind("table")] = None,
    where: Annotated[str, Parameter(name="--at")] = "",
) -> None: ...


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("sample_rate must be positive, got -1.0", "--sample-rate must be positive, got -1.0"),
        ("table must end in .csv, got 'x'", "--data must end in .csv, got 'x'"),
        ("name must be one of a, b, got 'c'", "NAMES must be one of a, b, got 'c'"),
        ("where of gear must be known", "--at of gear must be known"),
        ("where is for others", "--at is for others"),
        # What is no parameter, or no subject, stays as it is.
        ("budget must lie in (0, 1], got 2", "budget must lie in (0, 1], got 2"),
        ("data from elsewhere must stay", "data from elsewhere must stay"),
        ("the table must be there", "the table must be there"),
    ],
)
def test_the_subject_of_a_sentence_is_spelt_as_it_is_typed(sentence: str, said: str) -> None:
    assert in_words_of(command, ValueError(sentence)) == said
    assert in_words_of(None, ValueError(sentence)) == sentence


def test_spellings_are_those_that_the_command_line_takes() -> None:
    """What a message calls an option must be an option: cyclopts is asked for each of every command."""
    pending, seen = [cli.app], 0
    while pending:
        app: App = pending.pop()
        pending += [app[name] for name in app if not name.startswith("-")]
        if app.default_command is None:
            continue
        taken = {name for one in app.assemble_argument_collection() for name in one.names}
        typed = {one for one in spellings(app.default_command).values() if one.startswith("--")}
        assert typed <= taken
        seen += len(typed)
    assert seen > 40


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EACCES, "you may not read or write it"),
        (errno.ENOSPC, "the disk is full"),
        (errno.EMFILE, "Too many open files"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(number: int, reason: str) -> None:
    error = OSError(number, "Too many open files", "a/.part", None, "a/page.html")
    assert in_words_of(command, error) == f"cannot use 'a/page.html': {reason}"
    assert in_words_of(command, OSError("no scheduler answers")) == "no scheduler answers"
