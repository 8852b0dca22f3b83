import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from crest.recordings import load_recordings
from places import ROOT
from recordings_made import load


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


def test_optional_columns_may_be_left_out(three: Path) -> None:
    data = load_recordings(three, window=9, sample_rate=10)
    assert data.events is None
    assert data.proxy is None
    assert set(data.extra) == {"recording", "start"}
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
        ({"window": 8}, "sample_rate must be given where files do not say it, got none for 'a.npy'"),
        ({"window": 8, "sample_rate": 1, "channels": "a"}, "channels must be a list of names, got 'a'"),
        ({"window": 8, "sample_rate": 1, "channels": ["a", "b"]}, "line 2: .* channels: 2, as given, got 1"),
    ],
)
def test_wrong_arguments_are_named(three: Path, options: dict, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load_recordings(three, **options)


@pytest.mark.slow
def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    script = ROOT / "docs" / "examples" / "make_recordings.py"
    monkeypatch.setattr(sys, "argv", [str(script), "my_recordings"])
    runpy.run_path(str(script), run_name="__main__")
    page = (ROOT / "docs" / "recordings.md").read_text()
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
