"""The command line as a whole: help, errors in one sentence, folders that are missing."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_args

import pytest
from cyclopts import App

from commands import Command, run
from crest.lab import cli
from crest.lab.cli.runs import ExperimentName
from crest.lab.evidence import CATALOG, GROUPS


def test_help_lists_the_commands() -> None:
    shown = run("--help").stdout
    for name in ("demo", "systems", "run", "status", "report", "pack", "data", "bench", "doctor"):
        assert re.search(rf"^. {name} ", shown, re.MULTILINE)


def test_help_answers_without_torch_and_numpy() -> None:
    code = "import sys, crest.lab.cli\ntry: crest.lab.cli.app(['--help'])\nexcept SystemExit: pass\nprint({'torch', 'numpy'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Commands" in shown
    assert shown.strip().endswith("set()")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "mian"), "crest: NAMES must be one of field, teaser, main,"),
        (("run", "mian"), "all, got 'mian': did you mean 'main'?"),
        (("run",), "NAMES must hold an experiment, paper, all, or the .toml file of a study"),
        (("run", "main", "--jobs", "0"), "crest: --jobs must be a whole number, 1 or more, got 0"),
        (
            ("run", "main", "--jobs", "2", "--cluster", "tcp://localhost:1"),
            "crest: --jobs must be left out with --cluster",
        ),
        (("run", "main", "--cluster", "tcp://127.0.0.1:1"), "no Dask scheduler answers at tcp://127.0.0.1:1"),
        (("run", "main", "--folder", "pyproject.toml"), "crest: --folder must be a folder"),
        (("run", "main", "--cluster", "here"), "crest: --cluster must be like tcp://host:8786, got 'here'"),
        (("status", "--folder", "pyproject.toml"), "crest: --folder must be a folder"),
        (("report", "--output", "x.foo"), "crest: --output must end in .html or .md, got 'x.foo'"),
        (("report", "--output", "x.md", "--format", "html"), "crest: --output must end in .html, got 'x.md'"),
        (("report", "--output", "pyproject.toml/x.md"), "crest: --output must be in a folder, got the file"),
        (("data", "fetch", "cwru", "--from-dir", "gone"), "crest: --from-dir must be a folder with the .mat"),
        (
            ("data", "fetch", "cwru", "--from-dir", ".", "--folder", "pyproject.toml"),
            "crest: cannot use 'pyproject.toml': it is a file, and a folder is needed",
        ),
        (("bench", "readout"), "got 'readout': did you mean 'readouts'?"),
        (("report", "--folder", "nowhere"), "nowhere is not a folder"),
        (("report", "--folder", "."), "folder must have records of the catalog, got none in ."),
        (
            ("report", "main", "theory", "--folder", "."),
            "folder must have records of main, theory, got none in .",
        ),
        (("report", "mian", "--folder", "."), "all, got 'mian'"),
        (("doctor", "--cluster", "tcp://127.0.0.1:1"), "no Dask scheduler answers at tcp://127.0.0.1:1"),
    ],
)
def test_an_error_is_one_sentence(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["crest", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    shown = "".join(capsys.readouterr())
    assert message in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("raport",), r"^crest: Unknown command raport\. Did you mean report\?"),
        (
            ("run", "main", "--jbos", "2"),
            r"^crest: Unknown option: --jbos\. Did you mean --jobs\? See: crest run --help$",
        ),
        (("verify",), r"^crest: --sample must be given, with a value\. See: crest verify --help$"),
        (("audit",), r"^crest: MODEL must be given\. See: crest audit --help$"),
        (
            ("audit", "m.py:make", "--data"),
            r"^crest: --data must be given, with a value\. See: crest audit --help$",
        ),
        (("recordings", "check"), r"^crest: TABLE must be given\. See: crest recordings check --help$"),
        (
            ("recordings", "check", "t.csv", "--lable", "y"),
            r"^crest: Unknown option: --lable\. Did you mean --label\?",
        ),
        (
            ("recordings", "check", "t.csv", "u.csv"),
            r"^crest: unknown argument 'u\.csv'\. See: crest recordings",
        ),
        (
            ("recordings", "check", "t.csv", "--window", "x"),
            r"^crest: --window must be a whole number, got 'x'\.",
        ),
        (("recordings", "check", "t.csv", "--gap", "0,5"), r"^crest: --gap must be a number, got '0,5'\."),
        (("data", "fetch", "cwr"), r"^crest: Invalid value .*cwru.* See: crest data fetch --help$"),
    ],
)
def test_a_misused_command_says_so_in_the_same_style(
    crest: Command, words: tuple[str, ...], message: str
) -> None:
    shown, status = crest(*words)
    assert (status, len(shown.splitlines())) == (2, 1)
    # Versions of cyclopts quote differently.
    assert re.search(message, shown.strip().replace('"', ""))


def test_ctrl_c_is_one_line(crest: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.disk_usage", interrupted)
    assert crest("doctor") == ("crest: interrupted\n", 130)


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    code = "import sys, crest.lab.cli as cli\nsys.argv = ['crest', 'systems', 'list', '--json']\nsys.stdin.read()\ncli.main()\nsys.stdout.flush()"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_every_command(shell: Literal["bash", "zsh", "fish"]) -> None:
    script = cli.app.generate_completion(shell=shell)
    for word in ("systems", "report", "from-dir", "unsafe-pickle", "install-completion", "baselines"):
        assert word in script


def test_the_experiments_that_shells_offer_are_those_of_the_catalog() -> None:
    assert get_args(ExperimentName) == (*CATALOG, *GROUPS)


def test_no_option_says_what_leaving_it_out_says(crest: Command) -> None:
    """cyclopts would add --empty-columns to a list, and --no-json to a switch that is off anyway."""
    pending: list[tuple[tuple[str, ...], App]] = [((), cli.app)]
    opposites = set()
    while pending:
        words, app = pending.pop()
        pending += [((*words, name), app[name]) for name in app if not name.startswith("-")]
        if app.default_command is not None:
            shown, _ = crest(*words, "--help")
            opposites |= {(words[-1], option) for option in re.findall("--(?:no|empty)-[a-z-]+", shown)}
    assert opposites == {
        # Options of their own, and opposites of what is found out unless it is said.
        ("audit", "--no-features"),
        ("audit", "--no-time"),
        ("check", "--no-time"),
        ("cues", "--no-time"),
        ("audit", "--no-channels-first"),
        ("audit", "--no-classes"),
        ("check", "--no-classes"),
        ("cues", "--no-classes"),
    }


def test_the_default_folder_is_named_where_it_is_missing(crest: Command) -> None:
    for command in (("status", "main"), ("doctor",), ("report",), ("verify", "--sample", "1"), ("pack",)):
        shown, _ = crest(*command)
        assert re.search(r"\bresults\b.*--folder", shown), command
        assert "Traceback" not in shown
    assert list(Path().iterdir()) == []
