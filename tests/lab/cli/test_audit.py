"""`crest audit` on a model in a file and recordings on disk."""

from pathlib import Path

import numpy as np
import pytest
import safetensors.torch

from commands import Command
from crest.lab.cli import audit
from crest.lab.cli.own_model import own_model
from crest.lab.cli.recordings import RecordingFlags
from crest.lab.cli.wording import in_words_of
from crest.recordings import RecordingOptions

MODEL = """
import torch
from torch import nn

def make(outputs=1):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv1d(1, 4, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, outputs)
    )

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(1, 4, batch_first=True), nn.Linear(4, 1)

    def forward(self, x, lengths):
        assert not x[torch.arange(x.shape[1]) >= lengths[:, None]].any()
        features = self.rnn(x)[0]
        return self.head(features[torch.arange(len(x)), lengths - 1])

def recurrent():
    torch.manual_seed(0)
    return Recurrent()

def classifier():
    model = make(3)
    nn.init.constant_(model[-1].bias, 0)
    model[-1].bias.data[0] = 100
    return model
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of twelve recordings of two windows each, signals, a model and its weights."""
    numbers = np.random.default_rng(1000)
    rows = ["file,severity,speed"]
    for place in range(12):
        level, knock = numbers.normal(size=2)
        signal = level + 0.05 * numbers.normal(size=240)
        signal[[60, 61, 62, 180, 181, 182]] += knock
        np.save(tmp_path / f"{place}.npy", signal)
        rows.append(f"{place}.npy,{knock:.3f},{'fast' if place % 2 else 'slow'}")
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "model.py").write_text(MODEL)
    model = own_model(f"{tmp_path / 'model.py'}:make")
    safetensors.torch.save_file(model.state_dict(), tmp_path / "w.safetensors")
    return tmp_path


def run(folder: Path, model: str = "model.py:make", **changes: object) -> None:
    options = {
        "data": folder / "table.csv",
        "window": 120,
        "label": "severity",
        "weights": folder / "w.safetensors",
        "condition": ["speed"],
        "output": folder / "audit.html",
    }
    given = options | changes
    flags = {name: given.pop(name) for name in RecordingFlags.__dataclass_fields__ if name in given}
    audit.audit_model(f"{folder}/{model}", recordings=RecordingFlags(**flags), **given)


def test_it_says_what_was_found_and_writes_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder)
    said = capsys.readouterr().out
    # A network with the weights that it was made with.
    assert "Audit of 24 trajectories: unclear" in said
    assert "The model has hardly learnt its task" in " ".join(said.split())
    assert "slow" in said
    assert "features of '1', (B, D, T) with T = 120 and D = 4, read by '4'" in said
    page = (folder / "audit.html").read_text()
    assert "<!doctype html>" in page
    assert "Why: unclear" in page


def test_without_weights_it_says_that_the_model_is_as_it_was_made(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, weights=None)
    assert "- no --weights: the model has the weights that " in " ".join(capsys.readouterr().out.split())
    run(folder)
    assert "--weights" not in capsys.readouterr().out


def test_without_a_window_whole_recordings_are_looked_at(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, window=None)
    out = capsys.readouterr().out
    assert "Audit of 12 trajectories" in out
    assert "  - whole recordings, without --window: 240 samples\n" in out


@pytest.mark.parametrize("trajectories", [256, 4])
def test_recordings_of_different_lengths_are_padded_for_a_model_that_takes_lengths(
    folder: Path, capsys: pytest.CaptureFixture[str], trajectories: int
) -> None:
    """Of the four that are looked at, none is the longest."""
    for place in range(12):
        signal = np.load(folder / f"{place}.npy")
        np.save(folder / f"{place}.npy", signal[: 240 if place == 5 else 200 + place])
    run(folder, model="model.py:recurrent", weights=None, window=None, trajectories=trajectories)
    out = capsys.readouterr().out
    assert f"Audit of {'12' if trajectories > 12 else '4 of 12'} trajectories" in out
    assert "whole recordings, without --window: 200 to 240 samples, the shorter ones padded with zeros" in out
    with pytest.raises(
        ValueError, match=r"^window must be given if .* got 200 to 240 samples: .*, 200 or less"
    ):
        run(folder, window=None)
    with pytest.raises(ValueError, match=r"^hop must come with --window"):
        run(folder, window=None, hop=10)


def test_the_former_name_of_the_output_is_taken_and_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, out=folder / "former.html")
    assert "--out is deprecated and will be removed in version 0.3: use --output" in capsys.readouterr().out
    assert (folder / "former.html").exists()
    assert not (folder / "audit.html").exists()


def test_options_are_wrapped_as_they_are_typed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "spread.py").write_text(TRAINED.format(answer="knock.abs()"))
    run(folder, "spread.py:make", weights=None, no_features=True, condition=None)
    said = capsys.readouterr().out.partition("\nPage, ")[0]
    assert "--invariant offset drift tones gain" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 100


@pytest.fixture
def states(folder: Path) -> dict[str, object]:
    """Options for a classifier that always says its first class, and recordings half of which are ok."""
    names = ("ok", "inner", "ok", "outer")
    rows = ["file,state", *(f"{place}.npy,{names[place % 4]}" for place in range(12))]
    (folder / "states.csv").write_text("\n".join(rows) + "\n")
    return {
        "model": "model.py:classifier",
        "data": folder / "states.csv",
        "label": "state",
        "condition": None,
        "weights": None,
    }


@pytest.mark.parametrize(
    ("names", "said", "error"),
    [
        (None, "classes in sorted order, because --classes gives no names: 0 inner, 1 ok, 2 outer", 0.75),
        (["ok", "inner", "outer"], "classes: 0 ok, 1 inner, 2 outer", 0.5),
    ],
)
def test_it_says_the_number_of_each_class_and_takes_their_order(
    folder: Path,
    states: dict[str, object],
    capsys: pytest.CaptureFixture[str],
    names: list[str] | None,
    said: str,
    error: float,
) -> None:
    run(folder, **states, classes=names)
    out = capsys.readouterr().out
    assert f"  - {said}\n" in out
    assert f"  error {error}," in out


def test_a_table_with_fewer_classes_than_the_model_is_told_to_name_them(
    folder: Path, states: dict[str, object]
) -> None:
    """By alphabet its numbers would be wrong, and in silence."""
    table = (folder / "states.csv").read_text()
    (folder / "states.csv").write_text(table.replace("inner", "ok"))
    with pytest.raises(ValueError, match=r"^classes must name each of 3 outputs of the model") as refused:
        run(folder, **states)
    assert in_words_of(audit.audit_model, refused.value).startswith("--classes must name each of 3 outputs")


def test_numbers_are_classes_in_their_order_as_in_python(
    folder: Path, states: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    table = (folder / "states.csv").read_text()
    for name, number in (("ok", "8"), ("inner", "10"), ("outer", "2")):
        table = table.replace(name, number)
    (folder / "states.csv").write_text(table)
    run(folder, **states, classes=[])
    out = capsys.readouterr().out
    assert "classes in sorted order, because --classes gives no names: 0 2, 1 8, 2 10" in " ".join(
        out.split()
    )
    assert "  error 0.75," in out
    run(folder, **states, classes=["8", "10", "2"])
    assert "  error 0.5," in capsys.readouterr().out


def test_a_class_that_no_recording_is_of_keeps_its_number(
    folder: Path, states: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    table = (folder / "states.csv").read_text()
    (folder / "states.csv").write_text(table.replace("inner", "ok"))
    run(folder, **states, classes=["ok", "inner", "outer"])
    assert "classes: 0 ok, 1 inner, 2 outer; no recording has inner" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["ok", "inner", "other"],
            r"^classes must name every class of the column 'state', got ok, inner, other, and it also has outer$",
        ),
        (
            ["ok,inner,outer"],
            r"^classes must be different names with spaces between, .*got 'ok,inner,outer'",
        ),
        (["ok", "ok", "inner", "outer"], r"^classes must be different names"),
    ],
)
def test_class_names_that_are_not_those_of_the_table_are_told(
    folder: Path, states: dict[str, object], names: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run(folder, **states, classes=names)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": Path("gone.safetensors")}, "^weights must be a file that exists"),
        ({"classes": []}, r"^classes must come with a model that gives logits \(B, K\), got one number"),
        (
            {"classes": ["a", "b"], "no_classes": True},
            r"^classes must be left out with --no-classes, got 'a b'",
        ),
        ({"label": "gone"}, "gone"),
        ({"output": Path("audit.pdf")}, r"^output must end in \.html, got 'audit\.pdf'"),
        ({"trajectories": 1}, "^trajectories must be a whole number, 2 or more"),
        ({"window": 1000}, "window"),
    ],
)
def test_messages(folder: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(folder, **changes)


def test_signals_are_read_as_they_are_in_a_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of files with a clock at two rates, the chosen column at the rate that was asked for."""
    for place in range(12):
        signal = np.load(folder / f"{place}.npy")
        rate = 100 if place % 2 else 200
        lines = [f"{2 + step / rate},7,{value}" for step, value in enumerate(np.repeat(signal, rate // 100))]
        (folder / f"{place}.csv").write_text("\n".join(["clock,oil,force", *lines]))
    table = (folder / "table.csv").read_text().replace(".npy", ".csv")
    (folder / "table.csv").write_text(table)
    run(folder, columns=["force"], time="clock", resample=100.0, key=None)
    assert "Audit of 24 trajectories" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"^time must be left out with --no-time, got 'clock'"):
        run(folder, time="clock", no_time=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--data", "gone.csv"), "crest: --data must be a file that exists, got 'gone.csv'\n"),
        (
            ("--data", "one.csv"),
            "crest: --data must hold two trajectories or more: one has nothing to exchange\n",
        ),
        (
            ("--data", "table.csv", "--file", "path"),
            "crest: --file must name a column of the table, got --file path; 'table.csv' has file, severity, speed\n",
        ),
        (
            ("--data", "numbers.csv", "--classes"),
            "crest: --classes must name each of 3 outputs of the model, got ('0', '7')\n",
        ),
    ],
)
def test_what_is_wrong_is_told_with_the_options(
    crest: Command, folder: Path, words: tuple[str, ...], message: str
) -> None:
    (folder / "one.csv").write_text("file,severity\n0.npy,1\n")
    (folder / "numbers.csv").write_text("file,severity\n0.npy,0\n1.npy,7\n")
    assert crest("audit", "model.py:classifier", "--label", "severity", *words) == (message, 1)


def test_the_column_of_the_files_may_have_any_name(crest: Command, folder: Path) -> None:
    table = (folder / "table.csv").read_text()
    (folder / "table.csv").write_text(table.replace("file,", "path,", 1))
    words = ("--data", "table.csv", "--label", "severity", "--file", "path")
    shown, status = crest("audit", "model.py:make", *words)
    assert status == 0, shown
    assert "Audit of 12 trajectories" in shown


TRAINED = """
from torch import nn

class Peak(nn.Module):
    def forward(self, x):  # (B, T, 1), labels of mean 5 and standard deviation 2.4
        knock = x[:, 60:63, 0].mean(1) - x[:, :50, 0].mean(1)
        return {answer}

def make():
    return Peak()
"""


def test_a_model_of_standardised_labels_is_told_from_an_untrained_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (folder / "table.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    knocks = np.array([float(row[1]) for row in rows])
    for row, knock in zip(rows, knocks, strict=True):
        row[1] = f"{5 + 2.4 * knock:.4f}"
    (folder / "table.csv").write_text("\n".join([lines[0], *map(",".join, rows)]) + "\n")
    (folder / "peak.py").write_text(TRAINED.format(answer=f"(knock - {knocks.mean()}) / {knocks.std()}"))
    how = {"weights": None, "no_features": True, "condition": None}
    run(folder, "peak.py:make", **how)
    said = " ".join(capsys.readouterr().out.split())
    assert "labels are as in column 'severity'" in said
    assert "signals are in raw units, as in the files" in said
    assert (
        "Check the units of the labels: predictions fit labels with mean 0 and standard deviation 1" in said
    )
    mean, scale = 5 + 2.4 * knocks.mean(), 2.4 * knocks.std()
    run(folder, "peak.py:make", **how, label_mean=mean, label_scale=scale)
    said = " ".join(capsys.readouterr().out.split())
    assert "Check the units" not in said
    assert f"labels are column 'severity' less {mean:g}, divided by {scale:g}" in said
    (folder / "peak.py").write_text(TRAINED.format(answer="5 + 2.4 * knock"))
    run(folder, "peak.py:make", **how)
    assert "Check the units" not in capsys.readouterr().out


def test_field_rows_get_what_the_settings_of_the_model_say(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (folder / "table.csv").read_text().splitlines()
    rows = [f"{line},{'train' if place % 2 else 'ood'}" for place, line in enumerate(lines[1:])]
    (folder / "table.csv").write_text("\n".join([f"{lines[0]},part", *rows]) + "\n")
    RecordingOptions(window=120, label="severity", standardise="median").save(folder / "settings.json")
    run(folder, window=None, label=None, condition=None, settings=folder / "settings.json", split="part")
    said = " ".join(capsys.readouterr().out.split())
    assert "Audit of 12 trajectories" in said
    assert "signals: each window standardised by its median and median absolute deviation" in said
    assert "12 ood; 12 train left out (choose with --parts)" in said
    assert "look standardised window by window" in said


def test_field_rows_of_a_split_are_looked_at_only_if_asked_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (folder / "table.csv").read_text().splitlines()
    rows = [f"{line},{('train', 'id', 'ood')[place % 3]}" for place, line in enumerate(lines[1:])]
    (folder / "table.csv").write_text("\n".join([f"{lines[0]},part", *rows]) + "\n")
    run(folder, split="part")
    assert "8 id; 8 train and 8 ood left out (choose with --parts)" in " ".join(
        capsys.readouterr().out.split()
    )
    run(folder, split="part", parts=["id", "ood"])
    assert "8 id and 8 ood; 8 train left out" in " ".join(capsys.readouterr().out.split())


def test_it_says_how_many_windows_it_looked_at_and_of_what_intervals_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder, trajectories=16, sample_rate=1000.0)
    said = " ".join(capsys.readouterr().out.split())
    assert "Audit of 16 of 24 trajectories" in said
    assert (
        "16 of 24 windows were looked at, spread evenly over the recordings. Pass --trajectories 24" in said
    )
    assert "120 steps each, 0.12 s at 1000 steps per second" in said
    assert "95 % intervals: bootstrap over 12 groups of trajectories" in said
    assert (
        "intervals are over 12 recordings, because windows of one recording are alike. Pass --intervals-over window"
        in said
    )
    page = (folder / "audit.html").read_text()
    assert '"name":"0.npy, 0 s, slow"' in page
    assert '"rate":1000.0,"per":"s"' in page
    run(folder, group="speed")
    assert (
        "intervals are over 2 groups of 'speed', because windows of one group are alike"
        in capsys.readouterr().out
    )
    run(folder, intervals_over="window")
    said = capsys.readouterr().out
    assert "bootstrap over" not in said
    assert "windows were looked at" not in said
    # Without a rate there is nothing to tell in seconds.
    assert " s at " not in said


def test_where_audits_some_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, where=["speed=slow"])
    said = capsys.readouterr().out
    assert "Audit of 12 trajectories" in said
    assert "rows of the table: speed=slow" in said
    assert "fast" not in said
    run(folder, where=["file=0.npy"])
    assert "intervals are over windows, because all windows are from one recording" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_page_that_is_replaced_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder)
    assert "replaces" not in capsys.readouterr().out
    run(folder)
    assert capsys.readouterr().out.rstrip().endswith("audit.html (replaces the file that was there)")


def test_the_error_as_in_training_changes_the_advice(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(folder)
    assert "or pass --id-error, its error there" in " ".join(capsys.readouterr().out.split())
    run(folder, id_error=0.01)
    assert "Do not train the model for longer" in " ".join(capsys.readouterr().out.split())
