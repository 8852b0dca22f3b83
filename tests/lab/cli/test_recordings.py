"""`crest recordings check` on tables that are right and wrong."""

import json
from pathlib import Path

import pytest

from commands import Command


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Three recordings as people have them: a time column in milliseconds, semicolons, decimal commas, class names."""
    rows = ["file,state,speed,knocks"]
    for number, state in enumerate(("ok", "fault", "ok")):
        lines = [f"{2 * step};{(step * step % 7) / 10}".replace(".", ",") for step in range(40)]
        (tmp_path / f"{number}.txt").write_text("\n".join(["time_ms;force", *lines]))
        rows.append(f"{number}.txt,{state},{'fast' if number == 2 else 'slow'},3-7")
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


WORDS = ("table.csv", "--label", "state", "--condition", "speed", "--events", "knocks", "--window", "10")


def test_it_says_what_is_there(crest: Command, bench: Path) -> None:
    shown, status = crest("recordings", "check", *WORDS, "--ood", "fast", "--id-by", "recording")
    assert status == 0, shown
    for line in (
        "rows        3", "channels    force", "rates       500: 3", "time        'time_ms': 3",
        "lengths     shortest: 40, longest: 40", "classes     fault: 1, ok: 2", "conditions  fast: 1, slow: 2",
        "events      recordings: 3, share of steps: 0.1", "windows     12", "split       train: 4, id: 4, ood: 4",
        "No problems.",
    ):  # fmt: skip
        assert line in shown.splitlines()


def test_it_says_what_is_wrong_row_by_row_and_fails(crest: Command, bench: Path) -> None:
    text = (bench / "0.txt").read_text().splitlines()
    (bench / "0.txt").write_text("\n".join(text[:9] + text[10:]))
    (bench / "1.txt").unlink()
    table = (bench / "table.csv").read_text()
    (bench / "table.csv").write_text(table.replace("2.txt,ok", "2.txt,"))
    shown, status = crest("recordings", "check", *WORDS)
    assert status == 1
    assert "3 problems:" in shown
    assert (
        "line 2: file '0.txt' cannot be read: its time column 'time_ms' must rise by equal steps, got 4 from sample 7 to 8"
        in shown
    )
    assert "line 3: file '1.txt' does not exist" in shown
    assert "line 4: state must not be empty" in shown
    told = json.loads(crest("recordings", "check", *WORDS, "--json")[0])
    assert [problem["line"] for problem in told["problems"]] == [2, 3, 4]
    assert told["rows"] == 3
    assert told["channels"] == ["force"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gone.csv",), "crest: TABLE must be a file that exists, got 'gone.csv'"),
        (("table.csv",), "label must name a column of the table, got --label label (the default); 'table.csv' has file, state, speed, knocks\n"),
        (("table.csv", "--label", "sate"), "got --label sate; 'table.csv' has file, state, speed, knocks: did you mean 'state'?"),
        ((*WORDS, "--columns", "forc"), "got 'forc'; it has time_ms, force: did you mean 'force'?"),
        ((*WORDS, "--ood", "fats"), "ood must name conditions among fast, slow, got fats: did you mean 'fast'?"),
        ((*WORDS, "--columns", "x"), "columns must name a column of the file, got 'x'; it has time_ms, force"),
        ((*WORDS, "--time", "x"), "time must name a column of the file, got 'x'; it has time_ms, force"),
        ((*WORDS, "--time", "x", "--no-time"), "time must be left out with --no-time"),
        ((*WORDS, "--resample", "0"), "resample must be positive, got 0.0"),
        ((*WORDS, "--ood", "gone"), "ood must name conditions among fast, slow, got gone"),
        (("table.csv", "--label", "state", "--ood", "fast"), "ood must come with --condition and --window"),
    ],
)  # fmt: skip
def test_wrong_words_are_one_sentence(
    crest: Command, bench: Path, words: tuple[str, ...], message: str
) -> None:
    shown, status = crest("recordings", "check", *words)
    assert status == 1
    assert message in shown
    assert "Traceback" not in shown


def test_options_reach_the_files(crest: Command, bench: Path) -> None:
    told = json.loads(crest("recordings", "check", *WORDS, "--json", "--resample", "250")[0])
    assert (told["resampled"], told["lengths"]["longest"], told["windows"]) == (250.0, 20, 6)
    told = json.loads(crest("recordings", "check", *WORDS, "--json", "--no-time", "--sample-rate", "7")[0])
    assert told["channels"] == ["time_ms", "force"]
    told = json.loads(crest("recordings", "check", *WORDS, "--json", "--columns", "1", "--time", "0")[0])
    assert (told["channels"], told["rates"]) == (["force"], {"500": 3})


def test_one_cause_of_many_rows_is_one_line_with_what_to_do(crest: Command, bench: Path) -> None:
    rows = [f"{number}.txt,ok" for number in range(40)]
    (bench / "elsewhere").mkdir()
    (bench / "elsewhere" / "table.csv").write_text("\n".join(["file,state", *rows]) + "\n")
    words = ("recordings", "check", "elsewhere/table.csv", "--label", "state")
    shown, status = crest(*words)
    assert status == 1
    assert shown.splitlines()[-3:] == [
        "40 problems:",
        "  lines 2, 3, 4 and 37 more: file 'elsewhere/0.txt' does not exist, and likewise the others",
        "What to do: none of the files is in 'elsewhere': --signals says where they are",
    ]
    told = json.loads(crest(*words, "--json")[0])
    assert [problem["line"] for problem in told["problems"]] == list(range(2, 42))
    assert told["problems"][-1]["reason"] == "file 'elsewhere/39.txt' does not exist"
    assert told["advice"] == ["none of the files is in 'elsewhere': --signals says where they are"]
    shown, _ = crest("recordings", "check", *WORDS[:-1], "500")
    assert shown.splitlines()[-1] == "What to do: recordings have 40 samples: take --window 40 or less"


def test_what_is_lost_though_nothing_is_wrong_is_told(crest: Command, bench: Path) -> None:
    text = (bench / "0.txt").read_text().splitlines()
    (bench / "0.txt").write_text("\n".join(text[:-1]))
    # One recording has 39 samples, two have 40.
    shown, status = crest("recordings", "check", *WORDS, "--ood", "fast")
    assert status == 0
    assert shown.splitlines()[-3:] == [
        "No problems.",
        "But 1 of 3 recordings lose more than a tenth at their ends, up to 9 samples: --window 9 loses 4 at most.",
        "But 2 windows are gaps around ID, which --id-by recording would not need.",
    ]
    told = json.loads(
        crest("recordings", "check", *WORDS, "--json", "--id-by", "recording", "--ood", "fast")[0]
    )
    assert [one.split()[0] for one in told["remarks"]] == ["1"]
    assert json.loads(crest("recordings", "check", *WORDS[:-2], "--json")[0])["remarks"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--ood", "fast"), "--id-by recording, a smaller gap or a shorter window"),
        (("--signals", "gone"), "crest: --signals must exist, got 'gone'"),
        (("--columns", "x"), "cannot be read: --columns must name a column of the file, got 'x'"),
        (("--proxy", "sped"), "--proxy must name a column of the table, got --proxy sped;"),
    ],
)
def test_advice_is_in_the_words_of_the_command_line(
    crest: Command, bench: Path, words: tuple[str, ...], message: str
) -> None:
    shown, status = crest("recordings", "check", *WORDS[:-1], "30", *words)
    assert status == 1
    assert message in shown
