import json
from pathlib import Path

import pytest

from commands import Command, run
from crest.lab.cli.console import TRIAL


@pytest.mark.slow
def test_a_quick_benchmark_says_that_its_numbers_mean_nothing(tmp_path: Path) -> None:
    place = tmp_path / "new" / "numbers.json"
    result = run("bench", "readouts", "--quick", "--shapes", "1x8x2", "--json", str(place))
    assert result.returncode == 0, result.stderr
    assert result.stdout.rstrip().endswith(TRIAL)
    assert json.loads(place.read_text())[0]["shape"] == [1, 8, 2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("imports", "--json", "x.json"), "--json is for the benchmark readouts, got imports alone"),
        (("readouts", "--json", "x.txt"), "--json must end in .json, got 'x.txt'"),
        (("readouts", "--picture", "x.json"), "--picture must end in .png or .pdf or .svg, got 'x.json'"),
    ],
)
def test_options_are_looked_at_before_anything_is_measured(
    crest: Command, words: tuple[str, ...], message: str
) -> None:
    assert crest("bench", *words) == (f"crest: {message}\n", 1)


@pytest.mark.slow
@pytest.mark.parametrize("option", [("--shapes", "3xx"), ("--shapes", "3x4"), ("--threads", "0")])
def test_a_wrong_number_is_refused_without_a_traceback(option: tuple[str, str]) -> None:
    result = run("bench", "readouts", "--quick", *option)
    assert result.returncode == 1
    assert f"argument {option[0]}: must be " in result.stderr
    assert result.stderr.rstrip().endswith("the reason is above")
    assert "Traceback" not in result.stderr
