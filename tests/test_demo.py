from pathlib import Path

import pytest

from crest import demo


def test_the_demo_shows_failure_and_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = {row.name: row for row in demo.rows(1024)}
    mean, fixed, window = results["mean"], results["CREST at 0.02"], results["event window"]
    assert mean.risk_id < fixed.risk_id < 0.1
    assert mean.risk_ood > 0.9
    assert fixed.risk_ood < 0.1
    assert results["CREST"].risk_ood < mean.risk_ood
    assert fixed.credit.mean_cie > 5 * mean.credit.mean_chance > mean.credit.mean_cie
    for row in (mean, window):
        assert (row.risk_id, row.risk_ood) == pytest.approx(row.theory, abs=0.02)
    demo.main(["--output", str(tmp_path), "--trajectories", "64"])
    assert (tmp_path / "demo.png").stat().st_size > 20_000
    assert "CREST at 0.02" in capsys.readouterr().out


def test_too_few_trajectories_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--trajectories", "3"])
    assert "--trajectories must be at least 8, got 3" in capsys.readouterr().err
