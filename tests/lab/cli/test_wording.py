import ast
import errno
from pathlib import Path
from typing import Annotated

import pytest
from cyclopts import App, Parameter

from crest.lab import cli
from crest.lab.cli.wording import _KEYWORD, Behind, in_options_of, in_words_of, in_words_of_study, spellings
from crest.lab.study_keys import STUDY_KEYS, StudyFileError
from places import SOURCE


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
        ("sample_rate, where must be given", "--sample-rate, --at must be given"),
        # Python in the middle of a sentence, and where a signal file is refused.
        ("nothing is there; use where='a b'", "nothing is there; use --at 'a b'"),
        (
            "rates differ (sample_rate=250 brings all to one)",
            "rates differ (--sample-rate 250 brings all to one)",
        ),
        ("table= says where", "--data says where"),
        ("file 'a' cannot be read: where must be numbers", "file 'a' cannot be read: --at must be numbers"),
        ('put crest.HighPass("slow", where=True) there', 'put crest.HighPass("slow", where=True) there'),
        ("give budget=2", "give budget=2"),
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


def test_what_is_said_about_a_row_begins_with_a_column() -> None:
    sentence = "where must be a finite number, got 'n/a'; where= says where"
    assert in_options_of(command, sentence, begins=False) == (
        "where must be a finite number, got 'n/a'; --at says where"
    )


def test_a_study_is_told_in_the_words_of_its_file() -> None:
    error = StudyFileError("a.toml: gap must be small; id_by='recording', time=False, time=0 or folder= help")
    assert in_words_of(command, error) == (
        'a.toml: gap must be small; id_by = "recording", time = false, time = 0 or signals help'
    )
    assert in_words_of_study('crest.HighPass("level", time=True)') == 'crest.HighPass("level", time=True)'


def test_lists_are_words_on_the_command_line_and_lists_in_a_study() -> None:
    def check(*, columns: str = "") -> None: ...

    sentence = "it is no number; columns=['accel x', 'axial', 3] takes others"
    assert in_options_of(check, sentence) == "it is no number; --columns 'accel x' axial 3 takes others"
    assert in_words_of_study(sentence) == 'it is no number; columns = ["accel x", "axial", 3] takes others'


def test_every_argument_that_a_message_spells_in_python_is_an_option_or_a_key() -> None:
    """What recordings are refused for reaches a terminal: each `name=value` there must have its spelling for people."""
    folder = SOURCE / "recordings"
    spelt = {
        (path.name, found["name"])
        for path in sorted(folder.glob("*.py"))
        for text in messages(path)
        for found in _KEYWORD.finditer(text)
        if found["name"]
    }
    assert ("selection.py", "time") in spelt
    known = {*spellings(cli.recordings.check_table)} & {*STUDY_KEYS["recordings"], "folder"}
    assert {(file, name) for file, name in spelt if name not in known} == set()


def messages(path: Path) -> list[str]:
    """The texts of a module that are no docstrings; of what is filled in, `'x'` stands there."""
    tree = ast.parse(path.read_text())
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "'x'" for part in node.values]
            found.append("".join(map(str, parts)))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside | documentation
        ):
            found.append(node.value)
    return found
