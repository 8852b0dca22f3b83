from pathlib import Path

import pytest

from crest.lab.cli import data, systems
from real_recordings import FOLDER, real


@pytest.mark.slow
@real
def test_recordings_are_fetched_checked_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREST_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="crest data fetch cwru"):
        data.check_data("cwru")
    assert capsys.readouterr().out.count("missing") >= 16
    data.fetch_data("cwru", from_dir=FOLDER)
    data.check_data("cwru")
    assert capsys.readouterr().out.count("present") == 16
    systems.show_system("cwru", output=tmp_path / "cwru.png")
    assert (tmp_path / "cwru.png").stat().st_size > 10_000
    assert "log-RMS alone, linear reader: error 0." in capsys.readouterr().out
