from pathlib import Path

from commands import run


def test_the_doctor_says_what_is_there(tmp_path: Path) -> None:
    shown = run("doctor", "--folder", str(tmp_path / "new")).stdout
    for word in ("torch 2.", "cores", "bearings", "GiB free", "--cluster ADDRESS"):
        assert word in shown
    assert not (tmp_path / "new").exists()
