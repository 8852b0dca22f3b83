"""`crest cues` on recordings on disk."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from commands import Command

LABELS = ("ok", "worn")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sixteen recordings of four windows each; their level follows the label, which goes with the speed in all but two."""
    numbers = np.random.default_rng(1000)
    rows = ["file,wear,state,speed,place"]
    for place in range(16):
        wear = place / 15
        np.save(tmp_path / f"{place}.npy", wear + 0.05 * numbers.normal(size=400 + 10 * (place % 2)))
        fast = (place >= 8) != (place in (0, 15))
        rows.append(f"{place}.npy,{wear:.3f},{LABELS[place >= 8]},{'fast' if fast else 'slow'},here")
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_it_says_what_the_label_is_read_from(crest: Command, folder: Path) -> None:
    shown, status = crest("cues", "table.csv", "--label", "wear", "--window", "100", "--condition", "speed")
    assert status == 0, shown
    assert shown.startswith("Cues in 64 trajectories: R2 of the target, each of 16 groups left out\n")
    assert re.search(
        r"\nThe offset alone explains (9\d|100) % of the target\. A network will find it\.", shown
    )
    assert 'invariant=("offset",).' in shown
    assert "\nTarget and condition are tied: Cramér's V 0.65; 0 of 64 trajectories break the tie.\n" in shown


def test_json_has_what_to_dict_has(crest: Command, folder: Path) -> None:
    words = ("cues", "table.csv", "--label", "state", "--window", "100", "--condition", "speed", "--json")
    told = json.loads(crest(*words)[0])
    assert (told["measure"], told["classes"], told["groups"]) == ("balanced accuracy", ["ok", "worn"], 16)
    rows = {row["name"]: row for row in told["rows"]}
    assert rows["offset"]["score"] > 0.9
    assert rows["offset"]["chance"] == 0.5
    assert told["tie"]["counts"] == [[4, 28], [28, 4]]
    assert json.loads(crest(*words, "--leave-out", "window")[0])["groups"] is None


def test_classes_are_named_as_in_an_audit(crest: Command, folder: Path) -> None:
    words = ("cues", "table.csv", "--window", "100", "--json", "--label")
    told = json.loads(crest(*words, "state", "--classes", "worn", "ok")[0])
    assert told["measure"] == "balanced accuracy"
    lines = (folder / "table.csv").read_text().replace(",ok,", ",2,").replace(",worn,", ",10,")
    (folder / "table.csv").write_text(lines)
    assert json.loads(crest(*words, "state")[0])["measure"] == "R2"
    assert json.loads(crest(*words, "state", "--classes")[0])["classes"] == ["2", "10"]


def test_without_a_window_recordings_may_differ_in_length(crest: Command, folder: Path) -> None:
    shown, status = crest("cues", "table.csv", "--label", "wear")
    assert status == 0, shown
    assert "Cues in 16 trajectories: R2 of the target, each trajectory left out" in shown
    assert (
        "Assumed: whole recordings, without --window: 400 to 410 samples, the shorter ones padded with zeros"
        in shown
    )


def test_recordings_that_are_too_few_to_be_left_out_are_told(crest: Command, folder: Path) -> None:
    lines = (folder / "table.csv").read_text().splitlines()
    (folder / "two.csv").write_text("\n".join([lines[0], *lines[7:10]]) + "\n")
    shown, status = crest("cues", "two.csv", "--label", "state", "--window", "40")
    assert status == 0, shown
    told = "single windows are left out, not whole recordings: recordings must be"
    assert f"{told} 2 or more of each class, got 1 of class 'worn'" in shown
    shown, _ = crest("cues", "two.csv", "--label", "wear", "--window", "40")
    assert f"{told} 4 or more for a target in numbers, got 3" in shown


def test_windows_of_one_group_stay_together(crest: Command, folder: Path) -> None:
    lines = (folder / "table.csv").read_text().splitlines()
    rows = [f"{line},m{place // 2}" for place, line in enumerate(lines[1:])]
    (folder / "table.csv").write_text("\n".join([f"{lines[0]},machine", *rows]) + "\n")
    words = ("cues", "table.csv", "--label", "wear", "--window", "100")
    shown, status = crest(*words, "--group", "machine", "--condition", "speed", "--condition", "state")
    assert status == 0, shown
    assert shown.startswith("Cues in 64 trajectories: R2 of the target, each of 8 groups left out\n")
    assert "signals are in raw units, as in the files" in shown
    shown, status = crest(*words, "--group", "machine", "--leave-out", "window")
    assert (status, "crest: --leave-out must be left out with --group" in shown) == (1, True)


def test_training_rows_of_a_split_are_looked_at(crest: Command, folder: Path) -> None:
    lines = (folder / "table.csv").read_text().splitlines()
    rows = [f"{line},{'ood' if place % 4 == 0 else 'train'}" for place, line in enumerate(lines[1:])]
    (folder / "table.csv").write_text("\n".join([f"{lines[0]},part", *rows]) + "\n")
    words = ("cues", "table.csv", "--label", "wear", "--window", "100", "--split", "part")
    shown, _ = crest(*words)
    assert shown.startswith("Cues in 48 trajectories")
    assert "48 train; 16 ood left out (choose with --parts)" in shown
    assert crest(*words, "--parts", "train", "ood")[0].startswith("Cues in 64 trajectories")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--label", "wear", "--window", "100", "--condition", "place"), "crest: --condition must vary, got 'here' for every trajectory"),
        (("--label", "wear", "--window", "8"), "crest: TABLE must have 16 valid steps or more in each trajectory for a spectrum, got 8"),
        (("--label", "wear", "--hop", "8"), "crest: --hop must come with --window"),
        (("--label", "wear", "--window", "100", "--seed", "-1"), "crest: --seed must be a whole number, 0 or more, got -1"),
        (("--label", "wera", "--window", "100"), "did you mean 'wear'?"),
    ],
)  # fmt: skip
def test_wrong_words_are_one_sentence(
    crest: Command, folder: Path, words: tuple[str, ...], message: str
) -> None:
    shown, status = crest("cues", "table.csv", *words)
    assert status == 1
    assert message in shown
    assert "Traceback" not in shown


def test_a_check_says_when_label_and_condition_are_tied(crest: Command, folder: Path) -> None:
    words = (
        "recordings",
        "check",
        "table.csv",
        "--label",
        "state",
        "--condition",
        "speed",
        "--sample-rate",
        "10",
    )
    lines = crest(*words, "--window", "100")[0].splitlines()
    place = lines.index("state x speed, windows:")
    assert [line.split() for line in lines[place + 1 : place + 4]] == [
        ["fast", "slow"], ["ok", "4", "28"], ["worn", "28", "4"],
    ]  # fmt: skip
    assert lines[place + 4] == "Label and condition are tied: Cramér's V 0.75; 8 of 64 windows break the tie."
    assert lines[place + 5] == "No problems."
    told = json.loads(crest(*words, "--json")[0])["ties"]["speed"]
    assert (told["counted"], told["counts"], told["breaking"]) == ("recordings", [[1, 7], [7, 1]], 2)
    assert told["tied"]
    assert told["sentence"].endswith("2 of 16 recordings break the tie.")
    # What does not vary has no tie.
    assert json.loads(crest(*words[:-3], "place", *words[-2:], "--json")[0])["ties"] == {}
    assert "x place" not in crest(*words[:-3], "place", *words[-2:])[0]
    assert json.loads(crest(*words[:5], *words[-2:], "--json")[0])["ties"] == {}
