import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from crest.lab.encoders import ENCODERS
from crest.lab.study_keys import (
    MOST_RUNS,
    STUDY_ENCODERS,
    STUDY_KEYS,
    STUDY_READOUTS,
    StudyFileError,
    read_study,
)
from crest.lab.systems.recordings import RecordingsSystem
from crest.lab.training import Schedule
from crest.readouts import READOUTS
from crest.recordings.options import IdBy
from studies_made import made_study


def test_keys_and_names_are_those_of_what_they_stand_for() -> None:
    assert tuple(ENCODERS) == STUDY_ENCODERS
    assert tuple(READOUTS) == STUDY_READOUTS
    # A study makes these itself: `signals` is the folder, the table says ID rows, and training windows the labels' units.
    inside = {"folder", "content", "id", "label_mean", "label_scale"}
    fields = {field.name for field in dataclasses.fields(RecordingsSystem)} - inside
    assert {*STUDY_KEYS["recordings"]} == fields | {"signals"}
    assert {*STUDY_KEYS["training"]} == {field.name for field in dataclasses.fields(Schedule)}


def test_what_is_right_is_read_as_it_stands(tmp_path: Path) -> None:
    found = read_study(made_study(tmp_path, recordings={"time": False, "columns": [0], "ood": "fast"}))
    assert found["recordings"]["ood"] == "fast"
    assert (found["models"]["seeds"], found["training"]) == (2, {"epochs": 1})
    for by in get_args(IdBy):
        assert read_study(made_study(tmp_path, recordings={"id_by": by}))["recordings"]["id_by"] == by


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recordings": {"time": 1.5}}, "time must be a whole number, 0 or more, got 1.5"),
        ({"recordings": {"label": 3}}, "label must be text, got 3"),
        ({"recordings": {"columns": "force"}}, "columns must be a list of names or numbers, got 'force'"),
        ({"recordings": {"columns": [True]}}, "columns must be a whole number, 0 or more, got True"),
        ({"recordings": {"channels": [1]}}, "channels must be a list of names, got"),
        ({"recordings": {"ood": [True]}}, "ood must be a list of conditions, got"),
        ({"recordings": {"id_by": "recordings"}}, "id_by must be one of block, recording, group, got 'recordings': did you mean 'recording'?"),
        ({"recordings": {"id_fraction": 1}}, r"id_fraction must lie in \(0, 1\), got 1"),
        ({"models": {"encoders": None}}, r"\[models\] must have encoders, got none"),
        ({"models": {"seeds": []}}, r"seeds must be a number of seeds or a list of them, got \[\]"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused_by_its_key(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(StudyFileError, match=rf"my_study.toml: {message}"):
        read_study(made_study(tmp_path, **changes))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("table = table.csv", r"Invalid value \(at line 2, column 9\): text needs quotes$"),
        ("ood = 2 kW", r"\(at line 2, column 9\): text needs quotes$"),
        ("ood = [", r"\(at [^)]+\)$"),
    ],
)
def test_text_without_quotes_is_told(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "my_study.toml").write_text(f"[recordings]\n{line}\n")
    with pytest.raises(StudyFileError, match=rf"my_study\.toml: .*{message}"):
        read_study(tmp_path / "my_study.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a." * 50_000 + "b = 1\n", "the file must have at most 65536 bytes, got more"),
        ("a." * 30_000 + "b = 1\n", "a line must have at most 200 dots, got 30000 in line 1"),
        ("[" + "a." * 30_000 + "b]\n", "a line must have at most 200 dots"),
        ("\n[a]\nb = {" + "a . " * 15_000 + "b = 1}\n", "a line must have at most 200 dots, got 15000 in line 3"),
        ("a = " + "[" * 30_000 + "]" * 30_000, "the file must have at most 100 opening brackets, got 30000"),
        ("a = " + "{a = " * 5_000 + "1" + "}" * 5_000, "the file must have at most 100 opening brackets, got 5000"),
        ("# \xff\n", "the file must be text in UTF-8, got"),
    ],
)  # fmt: skip
def test_a_long_or_deep_file_is_refused_before_it_is_parsed(
    tmp_path: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my_study.toml"
    path.write_bytes(text.encode("latin-1"))
    monkeypatch.setattr("tomllib.loads", lambda text: pytest.fail("it was parsed"))
    with pytest.raises(StudyFileError, match=rf"my_study.toml: {message}"):
        read_study(path)


def test_what_may_be_long_and_deep_is_read_within_the_stack(tmp_path: Path) -> None:
    path = tmp_path / "my_study.toml"
    for text in (
        f"a = {'[' * 100}{']' * 100}\n",
        f"a = {'{a = ' * 100}1{'}' * 100}\n",
        ("a." * 200 + "b = 1\n") * 100,
    ):
        path.write_text(text)
        with pytest.raises(StudyFileError, match=r"my_study.toml: .*(no section a|overwrite)"):
            read_study(path)


def test_a_study_has_a_number_of_runs(tmp_path: Path) -> None:
    assert read_study(made_study(tmp_path, models={"seeds": MOST_RUNS // 4}))
    for seeds in (MOST_RUNS // 4 + 1, 10**15):
        with pytest.raises(StudyFileError, match=rf"must make at most 10000 runs, got {4 * seeds}"):
            read_study(made_study(tmp_path, models={"seeds": seeds}))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["status", "report"])
def test_what_only_reads_imports_no_package_of_the_encoders(tmp_path: Path, command: str) -> None:
    """One beside the study and one that is installed, each below a package that says when it is run."""
    installed = tmp_path / "installed"
    for place in (tmp_path / "near_package", installed / "far_package" / "inner"):
        place.mkdir(parents=True)
        (place / "nets.py").write_text("print('ran')\ndef make(channels): ...\n")
        (place / "__init__.py").write_text("print('ran')\n")
    (installed / "far_package" / "__init__.py").write_text("print('ran')\n")
    (tmp_path / "runs").mkdir()
    path = made_study(
        tmp_path, models={"encoders": ["near_package.nets:make", "far_package.inner.nets:make"]}
    )
    code = (
        f"import sys, crest.lab.cli\nsys.path.append({str(installed)!r})\n"
        f"sys.argv = ['crest', {command!r}, {str(path)!r}, '--folder', {str(tmp_path / 'runs')!r}]\n"
        "try: crest.lab.cli.main()\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith(('near_package', 'far_package'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "ran" not in done.stdout.splitlines()
    assert "encoders" not in done.stderr


@pytest.mark.parametrize("command", ["run", "status", "report"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recordings": {"labels": "label"}}, "[recordings] has no key labels; it has"),
        ({"recordings": {"label": "labels"}}, "got 'labels': did you mean 'label'?"),
        ({"models": {"encoders": ["gone.py:make"]}}, "encoders must name a file that exists, got 'gone.py'"),
    ],
)
def test_a_wrong_file_is_told_without_torch_and_the_catalog(
    tmp_path: Path, command: str, changes: dict[str, Any], message: str
) -> None:
    path = made_study(tmp_path, **changes)
    code = (
        f"import sys, crest.lab.cli\nsys.argv = ['crest', {command!r}, {str(path)!r}]\n"
        "try: crest.lab.cli.main()\nexcept SystemExit as ended: print(ended.code)\n"
        "heavy = {'torch', 'scipy', 'matplotlib', 'numba', 'plotly', 'crest.lab.evidence'}\n"
        "print(heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "set()"]
    assert message in done.stderr


def test_a_misspelt_experiment_is_told_as_soon() -> None:
    code = (
        "import sys, crest.lab.cli\nsys.argv = ['crest', 'run', 'mian']\n"
        "try: crest.lab.cli.main()\nexcept SystemExit: print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert "did you mean 'main'?" in done.stderr


def test_of_many_unknown_sections_the_first_are_told_and_their_count(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("".join(f"[{'a' * 1000}{k}]\n" for k in range(60)))
    with pytest.raises(StudyFileError) as told:
        read_study(tmp_path / "study.toml")
    assert "and 55 more; it has recordings" in str(told.value)
    assert len(str(told.value)) < 1000
