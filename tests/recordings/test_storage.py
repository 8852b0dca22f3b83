import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from crest.recordings import RecordingOptions, Trajectories, load, save
from trajectories_made import data


def test_a_file_gives_everything_back(tmp_path: Path) -> None:
    save(data(), tmp_path / "d.npz")
    back = load(tmp_path / "d.npz")
    for field in dataclasses.fields(Trajectories):
        if field.name == "extra":
            assert set(back.extra) == {"core", "name"}
            np.testing.assert_array_equal(back.extra["name"], data().extra["name"])
        else:
            np.testing.assert_array_equal(getattr(back, field.name), getattr(data(), field.name))
    assert back.x.dtype == np.float32
    assert [path.name for path in tmp_path.iterdir()] == ["d.npz"]
    options = RecordingOptions(window=8, standardise="median")
    save(dataclasses.replace(data(), options=options), tmp_path / "d.npz")
    assert load(tmp_path / "d.npz").options == options
    bare = dataclasses.replace(data(), events=None, proxy=None, extra={})
    save(bare, tmp_path / "d.npz")
    assert load(tmp_path / "d.npz").events is None


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(data(), tmp_path / "d.npz")
    before = (tmp_path / "d.npz").read_bytes()

    def full_disk(*arguments: object, **arrays: object) -> None:
        arguments[0].write(b"half a fi")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(data(), tmp_path / "d.npz")
    assert (tmp_path / "d.npz").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_damaged_and_foreign_files_are_refused_by_name(tmp_path: Path) -> None:
    save(data(), tmp_path / "d.npz")
    whole = (tmp_path / "d.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.npz").write_text("not an archive")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "objects.npz", about=np.array({"format": 1}, dtype=object))
    for name in ("half", "text", "other", "objects"):
        with pytest.raises(ValueError, match=f"{name}.npz is not a file of trajectories"):
            load(tmp_path / f"{name}.npz")
    with pytest.raises(FileNotFoundError, match=r"none\.npz does not exist"):
        load(tmp_path / "none.npz")


def test_objects_are_never_written(tmp_path: Path) -> None:
    holder = dataclasses.replace(data(), extra={"o": np.array([{}] * 6, dtype=object)})
    with pytest.raises(ValueError, match=r"extra\.o must hold numbers or text"):
        save(holder, tmp_path / "d.npz")


def test_every_flipped_byte_is_noticed_by_name(tmp_path: Path) -> None:
    save(data(), tmp_path / "d.npz")
    whole = bytearray((tmp_path / "d.npz").read_bytes())
    generator = np.random.default_rng(0)
    for place in generator.integers(0, len(whole), 60):
        broken = whole.copy()
        broken[place] ^= 0xFF
        (tmp_path / "b.npz").write_bytes(broken)
        try:
            back = load(tmp_path / "b.npz")
        except ValueError as error:
            assert "b.npz" in str(error)  # noqa: PT017
        else:  # a byte that no one reads, such as a date
            np.testing.assert_array_equal(back.x, data().x)


def test_a_saved_file_can_be_read_by_others(tmp_path: Path) -> None:
    save(data(), tmp_path / "d.npz")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "d.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode
    with pytest.raises(FileNotFoundError, match=r"folder .*nowhere does not exist"):
        save(data(), tmp_path / "nowhere" / "d.npz")


@pytest.mark.parametrize("channels", ["a", {"a": 1}, [1], None])
def test_names_of_channels_are_a_list_of_texts(tmp_path: Path, channels: object) -> None:
    one = dataclasses.replace(data(), x=data().x[..., :1], channels=("a",))
    save(one, tmp_path / "d.npz")
    with np.load(tmp_path / "d.npz") as file:
        arrays = dict(file)
    about = {**json.loads(str(arrays["about"])), "channels": channels}
    np.savez(tmp_path / "d.npz", **{**arrays, "about": np.array(json.dumps(about))})
    with pytest.raises(ValueError, match="channels must be a list of names"):
        load(tmp_path / "d.npz")
