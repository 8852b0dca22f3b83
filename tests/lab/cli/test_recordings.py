"""`crest recordings check` on tables that are right and wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Command
from crest.lab.cli.recordings import RecordingFlags
from crest.recordings import RecordingOptions


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


def test_classes_have_the_order_that_is_given(crest: Command, bench: Path) -> None:
    shown, status = crest("recordings", "check", *WORDS, "--classes", "ok", "fault", "worn")
    assert (status, "classes     ok: 2, fault: 1, worn: 0" in shown.splitlines()) == (0, True), shown
    shown, status = crest("recordings", "check", *WORDS, "--classes", "ok", "worn")
    assert (status, "state must be one of ok, worn, got 'fault'" in shown) == (1, True), shown


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
    assert shown.splitlines()[-4:] == [
        "No problems.",
        "But 1 of 3 recordings lose more than a tenth at their ends, up to 9 samples: --window 9 loses 4 at most.",
        "But windows of 10 steps are too short to tell brief events from a smooth background: take more than 16.",
        "But 2 windows are gaps around ID, which --id-by recording would not need.",
    ]
    told = json.loads(
        crest("recordings", "check", *WORDS, "--json", "--id-by", "recording", "--ood", "fast")[0]
    )
    assert [one.split()[0] for one in told["remarks"]] == ["1", "windows"]
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


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    """Two files at two speeds; in the training parts each size has its speed, in the others it has not."""
    for place in range(4):
        np.save(tmp_path / f"{place}.npy", np.random.default_rng(place).normal(size=1000))
    rows = ["file,size,rpm,load,part,start,stop"]
    for place, (size, rpm) in enumerate([(2, 1200), (2, 600), (8, 600), (8, 1200)]):
        tied = (size, rpm) in ((2, 1200), (8, 600))
        load = "low" if place % 2 else "high"
        rows += [f"{place}.npy,{size},{rpm},{load},train,,{'60 %' if tied else '0.5'}"]
        rows += [f"{place}.npy,{size},{rpm},{load},id,60 %,80 %", f"{place}.npy,{size},{rpm},{load},ood,8,"]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


RIG = (
    "recordings", "check", "table.csv", "--label", "size", "--condition", "rpm", "--condition", "load", "--start", "start",
    "--stop", "stop", "--sample-rate", "100", "--window", "50",
)  # fmt: skip


def test_a_split_and_several_conditions_are_told(crest: Command, rig: Path) -> None:
    shown, status = crest(*RIG, "--split", "part")
    assert status == 0, shown
    lines = shown.splitlines()
    for line in (
        "rows        12", "files       4", "units       raw units, as in the files", "label units as in column 'size'",
        "conditions  rpm (600: 6, 1200: 6), load (high: 6, low: 6)", "split       train: 26, id: 16, ood: 16",
    ):  # fmt: skip
        assert line in lines
    place = lines.index("size x rpm, training windows:")
    assert [line.split() for line in lines[place + 1 : place + 4]] == [
        ["600", "1200"],
        ["2", "1", "12"],
        ["8", "12", "1"],
    ]
    assert lines[place + 4].startswith("Label and condition are tied: Cramér's V 0.8")
    assert lines[place + 5].startswith("Cramér's V by part: train 0.8")
    assert lines[place + 5].endswith("id 0.00, ood 0.00.")
    unlike = (
        "But ID windows are unlike training: an audit of them does not show what this tie does to a model."
    )
    # Only for the column that is tied in training.
    assert [line for line in lines if line == unlike] == [lines[place + 6]]
    assert "size x load, training windows:" in lines
    told = json.loads(crest(*RIG, "--split", "part", "--json")[0])
    assert set(told["ties"]) == {"rpm", "load"}
    assert told["ties"]["rpm"]["tied"]
    assert [told["ties"][name]["id_as_in_training"] for name in ("rpm", "load")] == [False, True]


def test_held_out_windows_that_are_tied_as_in_training_pass(crest: Command, rig: Path) -> None:
    table = rig / "table.csv"
    rows = table.read_text().splitlines()
    untied = [",id," in row and row.split(",")[1:3] in (["2", "600"], ["8", "1200"]) for row in rows]
    kept = [row.replace("80 %", "65 %") if one else row for row, one in zip(rows, untied, strict=True)]
    table.write_text("\n".join(kept) + "\n")
    shown, status = crest(*RIG, "--split", "part")
    assert status == 0, shown
    assert "not as in training" not in shown


def test_a_split_taken_for_a_condition_does_not_pass_in_silence(crest: Command, rig: Path) -> None:
    words = [*RIG[:5], "--condition", "part", *RIG[9:]]
    shown, _ = crest(*words, "--ood", "ood")
    assert (
        "But 'part' looks like a column of splits (id, ood, train), and is read as a condition here: --split part takes its rows"
        in shown
    )
    shown, status = crest(*RIG, "--split", "part", "--ood", "rpm=600")
    assert (status, "crest: --ood must be left out with --split" in shown) == (1, True)


def test_what_is_typed_comes_before_settings_though_it_is_the_default(tmp_path: Path) -> None:
    RecordingOptions(
        window=50, file="path", label="size", unit="g", label_mean=2.0, label_scale=3.0, standardise="median"
    ).save(tmp_path / "settings.json")
    typed: dict[str, Any] = {
        "file": "file",
        "label": "label",
        "unit": "",
        "label_mean": 0.0,
        "label_scale": 1.0,
    }
    kept = RecordingFlags(settings=tmp_path / "settings.json").options(window=None)
    assert (kept.file, kept.label, kept.unit, kept.label_mean, kept.label_scale) == (
        "path",
        "size",
        "g",
        2.0,
        3.0,
    )
    found = RecordingFlags(settings=tmp_path / "settings.json", **typed).options(window=None)
    assert {name: getattr(found, name) for name in typed} == typed
    assert (found.window, found.standardise) == (50, "median")


def test_settings_are_taken_where_nothing_else_is_said(crest: Command, rig: Path) -> None:
    RecordingOptions(window=50, label="size", standardise="median", sample_rate=100).save(
        rig / "settings.json"
    )
    words = (
        "recordings",
        "check",
        "table.csv",
        "--settings",
        "settings.json",
        "--start",
        "start",
        "--stop",
        "stop",
    )
    shown, status = crest(*words)
    assert status == 0, shown
    assert "units       each window standardised by its median and median absolute deviation" in shown
    assert "windows     58" in shown
    shown, _ = crest(*words, "--standardise", "mean", "--window", "100")
    assert "units       each window standardised by its mean and standard deviation" in shown
    shown, status = crest("recordings", "check", "table.csv", "--settings", "gone.json")
    assert (status, "crest: --settings must be a file that exists, got 'gone.json'" in shown) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scale", "2", "--unit", "g"), "units       g, 2 times the files"),
        (("--label-mean", "5", "--label-scale", "3"), "labels      lowest: -1, highest: 1, mean: 0"),
        (("--label-mean", "5", "--label-scale", "3"), "label units column 'size' less 5, divided by 3"),
        (("--ood", "rpm=600", "--id-by", "recording"), "split       train: 9, id: 20, ood: 29"),
    ],
)
def test_units_and_conditions_as_typed(
    crest: Command, rig: Path, words: tuple[str, ...], message: str
) -> None:
    shown, status = crest(*RIG, *words)
    assert status == 0, shown
    assert message in shown.splitlines()
