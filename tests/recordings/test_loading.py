import importlib
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import crest
from crest.recordings import load_recordings
from crest.recordings.loading import gathered_recordings, padded
from crest.recordings.options import RecordingOptions
from places import ROOT
from recordings_made import load, table


def test_windows_lie_at_their_samples(three: Path) -> None:
    data = load(three)
    recording, start = data.extra["recording"], data.extra["start"]
    assert start.tolist() == [0, 6, 12, 0, 6, 12, 0]
    assert recording.tolist() == [0, 0, 0, 1, 1, 1, 2]
    np.testing.assert_array_equal(data.x[:, :, 0], (1000 * recording + start)[:, None] + np.arange(8))
    assert data.x.dtype == np.float32
    assert data.y.tolist() == [1, 1, 1, 2, 2, 2, 3]
    assert data.proxy is not None
    assert data.proxy.tolist() == [7, 7, 7, 8, 8, 8, 9]
    assert data.extra["condition"].tolist() == ["slow"] * 3 + ["fast"] * 3 + ["slow"]
    assert (data.sample_rate, data.channels) == (10, ("a",))


def test_padded_recordings_are_one_window_each(tmp_path: Path) -> None:
    for place, length in enumerate((4, 6)):
        np.save(tmp_path / f"{place}.npy", np.arange(1.0, length + 1))
    (tmp_path / "table.csv").write_text("file,label\n0.npy,1\n1.npy,2\n")
    found = padded(gathered_recordings(tmp_path / "table.csv", None, RecordingOptions(window=2)))
    assert (found.options.window, found.options.hop) == (6, 6)
    assert [one.signal.samples[:, 0].tolist() for one in found.recordings] == [
        [1, 2, 3, 4, 0, 0],
        [1, 2, 3, 4, 5, 6],
    ]


def test_optional_columns_may_be_left_out(three: Path) -> None:
    data = load_recordings(three, window=9, sample_rate=10)
    assert data.events is None
    assert data.proxy is None
    assert set(data.extra) == {"file", "recording", "row", "start"}
    assert data.extra["file"].tolist() == ["a.npy"] * 2 + ["b.npy"] * 2 + ["c.npy"]
    assert data.extra["start"].tolist() == [0, 9, 0, 9, 0]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"window": 0, "sample_rate": 1}, "window must be a whole number, 1 or more, got 0"),
        (
            {"window": 8, "hop": 0, "sample_rate": 1},
            "hop must be a whole number, 1 or more, got 0",
        ),
        ({"window": 8, "sample_rate": -1.0}, "sample_rate must be positive, got -1"),
        ({"window": 8}, "sample_rate must be given if files do not say it, got none for 'a.npy'"),
        ({"window": 8, "sample_rate": 1, "channels": "a"}, "channels must be a list of names, got 'a'"),
        ({"window": 8, "sample_rate": 1, "channels": ["a", "b"]}, "line 2: .* channels: 2, as given, got 1"),
    ],
)
def test_wrong_arguments_are_named(three: Path, options: dict, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load_recordings(three, **options)


def test_several_conditions_are_joined_and_kept_by_name(three: Path) -> None:
    data = load_recordings(three, window=8, sample_rate=10, condition=["speed", "cue"])
    assert data.extra["condition"].tolist()[:3] == ["slow, 7", "slow, 7", "fast, 8"]
    assert data.extra["speed"].tolist()[2] == "fast"
    assert data.extra["cue"].tolist()[2] == "8"
    assert data.conditions == {name: data.extra[name].tolist() for name in ("speed", "cue")}
    one = load_recordings(three, window=8, sample_rate=10, condition="speed")
    assert one.conditions == one.extra["condition"].tolist()
    assert load_recordings(three, window=8, sample_rate=10).conditions is None


@pytest.mark.parametrize(("how", "robust"), [("mean", False), ("median", True)])
def test_windows_are_put_in_units_of_their_own(three: Path, how: str, robust: bool) -> None:
    raw = load_recordings(three, window=8, sample_rate=10)
    data = load_recordings(three, window=8, sample_rate=10, standardise=how, scale=3.0)
    wanted = crest.Standardise(robust=robust)(torch.from_numpy(raw.x)).numpy()
    np.testing.assert_allclose(data.x, wanted, rtol=1e-5, atol=1e-6)
    assert "each window standardised by its " + how in repr(data)
    assert "raw units, as in the files" in repr(raw)


def test_signals_are_scaled_by_channel(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((20, 2)))
    path = table(tmp_path, "file,label", "a.npy,1")
    data = load_recordings(path, window=10, sample_rate=1, scale=[2.0, 0.5], unit="g")
    assert data.x[0, 0].tolist() == [2, 0.5]
    assert data.options.units == "g, 2, 0.5 times the files"
    with pytest.raises(ValueError, match="scale must be one number, or one for each of the channels"):
        load_recordings(path, window=10, sample_rate=1, scale=[2.0, 0.5, 1.0])


@pytest.mark.slow
def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    script = ROOT / "docs" / "examples" / "make_recordings.py"
    monkeypatch.setattr(sys, "argv", [str(script), "my_recordings"])
    runpy.run_path(str(script), run_name="__main__")
    page = (ROOT / "docs" / "user" / "recordings.md").read_text()
    head, first = (tmp_path / "my_recordings" / "table.csv").read_text().splitlines()[:2]
    assert head in page
    assert ";".join(first.split(";")[:3]) in page
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "recordings.md", "exec"), namespace)
    errors = re.findall(r"(\w+)Readout (\w+) RMSE ([\d.]+)", capsys.readouterr().out)
    found = {(readout, split): float(error) for readout, split, error in errors}
    assert found["Mean", "ID"] < 0.6
    assert found["Mean", "OOD"] > 2 * found["Crest", "OOD"]


@pytest.mark.parametrize("module", ["crest.recordings", "crest.lab.systems"])
def test_names_that_load_on_first_use_are_completed(module: str) -> None:
    found = importlib.import_module(module)
    assert set(found.__all__) <= set(dir(found))
    assert all(getattr(found, name) is not None for name in dir(found))
