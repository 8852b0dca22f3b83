"""What the documentation names must exist, and what it shows must run."""

import importlib
import itertools
import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import crest
from crest.lab.evidence import CATALOG, GROUPS
from crest.lab.evidence.experiment import distinct
from manual import PAGES, anchors, blocks, commands, name, shell_lines, shown_after, without_numbers
from places import DOCS, ROOT, SOURCE

README = ROOT / "README.md"
MAP = (DOCS / "evidence" / "paper_map.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TESTS = "\n".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))


def resolve(dotted: str) -> object:
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AssertionError(f"{dotted} does not exist")


# -- names


NAMES = sorted({one for page in PAGES for one in re.findall(r"`(crest\.[\w.]+)[`(]", page.read_text())})


@pytest.mark.parametrize("dotted", NAMES)
def test_every_name_of_the_package_on_a_page_exists(dotted: str) -> None:
    assert resolve(dotted) is not None


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/.:]+)`", MAP))))
def test_every_test_of_the_map_exists(path: str) -> None:
    file, _, function = path.partition("::")
    text = (ROOT / file).read_text()
    assert not function or f"def {function}(" in text


SHOWN_BY = sorted({one for page in PAGES for one in re.findall(r"`(test_\w+)`", page.read_text())})


@pytest.mark.parametrize("test", SHOWN_BY)
def test_every_test_that_a_page_names_exists(test: str) -> None:
    assert f"def {test}(" in TESTS


def test_every_choice_named_in_the_code_is_written_down() -> None:
    files = SOURCE.rglob("*.py")
    named = {
        anchor
        for path in files
        for anchor in re.findall(r"docs/evidence/choices\.md#([\w-]+)", path.read_text())
    }
    named |= {source.partition("#")[2] for source in crest.CrestConfig.sources().values() if "#" in source}
    assert {"sigma", "tolerance"} <= named
    assert named <= anchors(DOCS / "evidence" / "choices.md")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        place = page.parent / file if file else page
        assert place.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(place), f"{page.name} links to {target}"


# -- what is shown runs

BLOCKS = [
    pytest.param(page, number, code, id=f"{name(page)}-{number}")
    for page in PAGES
    for number, code in enumerate(blocks(page, "python"))
    # Needs a SLURM cluster; and a tutorial goes on from block to block: test_tutorials.py.
    # And what recipes hand to loggers is read again: test_recipes.py.
    # README's blocks run below, with what they print.
    if "SLURMCluster" not in code
    and page.parent.name != "tutorials"
    and page.name not in ("recipes.md", "README.md")
]


@pytest.mark.unchecked
@pytest.mark.slow
@pytest.mark.parametrize(("page", "number", "code"), BLOCKS)
def test_every_python_block_runs_on_its_own_and_prints_what_is_shown(
    page: Path,
    number: int,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The lines that stand behind a block are printed, up to their numbers."""
    monkeypatch.chdir(ROOT)
    if page.name == "recordings.md":
        monkeypatch.chdir(tmp_path)
        script = DOCS / "examples" / "make_recordings.py"
        subprocess.run([sys.executable, str(script), "my_recordings"], check=True)
    exec(compile(code, name(page), "exec"), {"__name__": "__main__"})
    if page.parent.name == "user":
        printed = {without_numbers(line) for line in capsys.readouterr().out.splitlines()}
        shown = {without_numbers(line) for line in shown_after(page, number)}
        assert shown <= printed


def test_what_user_pages_show_is_compared() -> None:
    shown = {page.name for page, number, _ in (one.values for one in BLOCKS) if shown_after(page, number)}
    assert {"audit.md", "repair.md", "cues.md", "helps.md", "estimators.md", "recordings.md"} <= shown


def test_the_cluster_script_compiles() -> None:
    (script,) = [code for code in blocks(DOCS / "lab" / "cluster.md", "python") if "SLURMCluster" in code]
    compile(script, "cluster.md", "exec")


@pytest.mark.slow
def test_the_ordinary_network_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = DOCS / "examples" / "ordinary_cnn.py"
    monkeypatch.setattr(sys, "argv", [str(script), "--seeds", "1", "--epochs", "1"])
    runpy.run_path(str(script), run_name="__main__")
    ways = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert len(ways) == 3
    page = (DOCS / "user" / "helps.md").read_text()
    assert all(f"    {way} " in page for way in ways)


@pytest.mark.slow
def test_the_audited_network_is_found_to_read_the_background(tmp_path: Path) -> None:
    (command,) = [words for words in commands(DOCS / "user" / "audit.md", "crest") if "--weights" in words]
    folder = tmp_path / "my_recordings"
    for script in ("make_recordings.py", "audited_cnn.py"):
        subprocess.run([sys.executable, str(DOCS / "examples" / script), str(folder)], check=True, cwd=ROOT)
    words = [word.replace("my_recordings", str(folder)) for word in command[1:]]
    words = [str(tmp_path / word) if word == "audit.html" else word for word in words]
    result = subprocess.run(
        [sys.executable, "-m", "crest", *words], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert result.stdout.startswith("Audit of 96 trajectories: background")
    assert "slow" in result.stdout
    assert (tmp_path / "audit.html").stat().st_size > 1e6


@pytest.mark.slow
def test_the_study_of_the_manual_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a trial, by its own file, encoder and commands."""
    from crest.lab.cli.console import words_aside  # noqa: PLC0415
    from crest.lab.cli.report import report  # noqa: PLC0415

    page = DOCS / "lab" / "studies.md"
    for file, language in (("my_study.toml", "toml"), ("my_encoder.py", "python")):
        (text,) = blocks(page, language)
        # One remedy of three: a trial is to be short.
        (tmp_path / file).write_text(text.replace('["none", "high_pass", "exchange"]', '["none"]'))
    script = DOCS / "examples" / "make_recordings.py"
    subprocess.run([sys.executable, str(script), "my_recordings"], check=True, cwd=tmp_path)
    (trial,) = [words for words in commands(page, "crest") if "--quick" in words]
    words = [sys.executable, "-m", *trial, "--jobs", "1"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert shown.startswith("my_study.toml: 66 training windows, 16 ID, 48 OOD")
    assert "4 done, 0 already there, 0 failed" in shown
    monkeypatch.chdir(tmp_path)
    report("my_study.toml", folder=Path("trial"), json=True)
    words_aside(False)
    rows = json.loads(capsys.readouterr().out)["studies"]["my_study"]["models"]
    assert {row["encoder"] for row in rows} == {"CNN", "my_encoder.py:make_encoder"}
    assert all(re.match(r"\d\.\d{3}", row[error]) for row in rows for error in ("ID error", "OOD error"))
    assert 'id="explorer-data"' in (tmp_path / "outputs" / "trial.html").read_text()


COMMANDS = sorted({tuple(words) for page in PAGES for words in commands(page, "crest")})


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_crest_command_is_one(words: tuple[str, ...]) -> None:
    from crest.lab.cli import app  # noqa: PLC0415

    given = [word for word in words[1:] if word != "..."]
    command, _, ignored = app.parse_args(given, exit_on_error=False, print_error=False)
    assert not ignored
    # `crest` alone, and a group such as `crest data`, print their help.
    assert command is not None
    experiments = [
        word for word in given[1:] if word.isidentifier() and given[0] in ("run", "report", "status")
    ]
    values = {value for option, value in itertools.pairwise(given) if option.startswith("--")}
    assert set(experiments) - values <= {*CATALOG, *GROUPS, "NAME"}


CHEAP = [("systems", "list"), ("status",), ("doctor",), ("run", "--help"), ("data", "--help")]


@pytest.mark.slow
@pytest.mark.parametrize("words", CHEAP, ids=" ".join)
def test_cheap_commands_run(words: tuple[str, ...]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "crest", *words], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


def test_every_make_target_on_a_page_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    shown = {words[1] for page in PAGES for words in commands(page, "make") if len(words) > 1}
    assert {"demo", "test", "docs", "pictures"} <= shown
    for target in shown:
        assert re.search(rf"^([\w-]+ )*{target}( [\w-]+)*:", makefile, flags=re.MULTILINE), target


def test_extras_that_pages_install_exist() -> None:
    shown = [words for page in PAGES for words in commands(page, "pip install")]
    assert ["pip", "install", "."] in shown
    for words in shown:
        extras = re.findall(r"\[([\w,]+)\]", " ".join(words))
        assert {extra for part in extras for extra in part.split(",")} <= set(
            PROJECT["optional-dependencies"]
        )


def test_every_other_shell_line_is_known() -> None:
    """A new kind of command on a page must get a test of its own here."""
    known = (
        r"(\.venv/bin/)?(crest|make|pip install|pytest|pre-commit install)\b",
        r"python (docs/examples/(make_recordings|ordinary_cnn|audited_cnn)\.py|slurm_cluster\.py)",  # here, and test_loading.py
        r"(OMP_NUM_THREADS=1 )?dask (scheduler|worker)\b",  # Dask's own
    )
    shown = {name(page): shell_lines(page) for page in PAGES}
    # Lines of output and of files begin otherwise.
    programs = (
        "crest",
        "make",
        "pip",
        "python",
        "pytest",
        "dask",
        "OMP_",
        ".venv",
        "kubectl",
        "git",
        "docker",
    )
    typed = [line for lines in shown.values() for line in lines if line.startswith(programs)]
    assert len(typed) > 20
    for line in typed:
        assert any(re.match(pattern, line) for pattern in known), line


# -- the first page


def words_of(text: str) -> list[str]:
    """The words that a reader reads: without code blocks, generated tables, pictures and HTML comments.

    What stands between the markers of `crest.lab.report.readme` counts too, but for the rows of a table. A link counts by
    its text. A word is anything between spaces that holds a letter or a digit.
    """
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return [word for word in text.split() if re.search(r"\w", word)]


def test_words_are_counted_as_said() -> None:
    text = "# One\n<!-- no -->\n![no](no.png)\n\n| no | no |\n\ntwo **three** [four five](no.md) - six\n```\nno\n```\n"
    assert words_of(text) == ["One", "two", "**three**", "four", "five", "six"]


def test_the_first_page_is_short_and_in_order() -> None:
    text = README.read_text()
    lines = text.splitlines()
    assert len(lines) <= 100
    before, _, _ = text.partition("## Read on")
    assert 300 < len(words_of(before)) <= 700
    assert next(number for number, line in enumerate(lines, 1) if line.startswith("pip install")) <= 20
    order = [
        "docs/falls.png",
        "pip install .",
        "```python",
        "```text",
        "<!-- table start -->",
        "## When not to use it",
        "## The paper",
        "<!-- claims start -->",
        "make demo",
        "## Read on",
    ]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_the_first_table_has_six_rows_at_most_and_says_where_nothing_is_gained() -> None:
    table = README.read_text().split("<!-- table start -->")[1].split("<!-- table end -->")[0]
    _, _, *rows = table.strip().splitlines()
    assert 4 <= len(rows) <= 6
    assert "MIT-BIH" in rows[0]
    assert any("worse" in row or "the same" in row for row in rows)


def test_the_first_page_goes_from_audit_to_repair_in_a_few_lines() -> None:
    (code,) = blocks(README, "python")
    lines = [line for line in code.splitlines() if line.strip() and not re.match(r"import |from |#", line)]
    assert 10 <= len(lines) <= 15
    calls = ["crest.examples.", "crest.audit(", "crest.repair("]
    assert [code.index(call) for call in calls] == sorted(code.index(call) for call in calls)


SHOWN_NUMBER = re.compile(r"-?\d+\.\d+")
"""Digits before and after a point; what other digits say must agree word by word."""


def said_and_shown() -> list[tuple[str, str]]:
    """Python blocks of the first page, each with the text block after it."""
    pattern = r"^```python\n(.*?)^```\n+^```text\n(.*?)^```"
    return re.findall(pattern, README.read_text(), flags=re.DOTALL | re.MULTILINE)


def test_every_block_of_the_first_page_shows_what_it_prints() -> None:
    assert [code for code, _ in said_and_shown()] == blocks(README, "python")


@pytest.mark.unchecked
@pytest.mark.slow
@pytest.mark.parametrize(("code", "shown"), said_and_shown())
def test_the_first_page_prints_what_it_shows(
    code: str, shown: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its words, and its numbers as far as another machine's rounding leaves them: within 10 %, or 0.02 of small ones."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert SHOWN_NUMBER.sub("#", printed) == SHOWN_NUMBER.sub("#", shown)
    numbers = [[float(one) for one in SHOWN_NUMBER.findall(text)] for text in (printed, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.1, abs=0.02)
    assert "wrong one" not in printed


@pytest.mark.parametrize("term", ["event", "cue", "bench", "field", "ID", "OOD", "readout"])
def test_a_term_is_defined_where_it_first_appears(term: str) -> None:
    """In bold, before any other use of the word."""
    text = README.read_text()
    # The first sentence names what the page is about, and the picture what it shows.
    text = text[text.index("docs/falls.png)") :]
    first = re.search(rf"(?<![\w/.-]){term}(?![\w/.])", text)
    assert first is not None
    bold = [found for found in re.finditer(r"\*\*([^*]+)\*\*", text) if re.search(rf"\b{term}\b", found[1])]
    assert bold
    assert bold[0].start() <= first.start() <= bold[0].end()


# -- citation and metadata


def test_the_citation_is_of_this_version_and_of_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == crest.__version__
    assert citation["license"] == PROJECT["license"]
    assert {"message", "title", "authors"} <= set(citation)
    paper = citation["preferred-citation"]
    assert {"type", "title", "authors"} <= set(paper)
    assert all({"family-names", "given-names"} <= set(author) for author in paper["authors"])
    for page in (README, DOCS / "evidence" / "claims.md"):
        assert paper["title"] in re.sub(r"\s+", " ", page.read_text())


def test_the_metadata_names_authors_and_ships_the_citation() -> None:
    assert PROJECT["authors"] == [{"name": "The crest contributors"}]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "CITATION.cff" in project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert (SOURCE / "py.typed").exists()


def test_the_manual_counts_the_runs_of_the_catalog() -> None:
    text = (ROOT / "docs" / "lab" / "runs.md").read_text()
    both = distinct([CATALOG["remedies"], CATALOG["audit"]])
    assert f"It has {len(distinct(CATALOG.values()))} runs" in text
    assert (
        f"`remedies` with `audit` has {len(both)} of them and `severe` {len(CATALOG['severe'].runs)}" in text
    )
