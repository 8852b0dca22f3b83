"""Files of a data set: found where they were placed, fetched whole and taken up again, or a clear error."""

import dataclasses
import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crest.lab.systems import public_files
from crest.lab.systems.public_files import (
    DataFile,
    DataSet,
    RecordingFileError,
    check_files,
    fetch_files,
    file_state,
    folder_of,
    listed_files,
    require_files,
)
from file_server import Mirror

# Long enough for several chunks.
CONTENT = {
    name: np.random.default_rng(size).bytes(size) for name, size in {"a.dat": 200_000, "b.hea": 70}.items()
}
FILES = tuple(
    DataFile(name, len(content), hashlib.sha256(content).hexdigest()) for name, content in CONTENT.items()
)
DATA = DataSet(
    name="toy",
    title="Toy",
    what="two files",
    licence="any use",
    cite="nobody",
    addresses=("http://127.0.0.1:9/",),
    files=FILES,
)
BY_HAND = dataclasses.replace(DATA, addresses=(), files=(DataFile("built.npz"),), by_hand="build it yourself")


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Mirror]:
    """Serves whole files only."""
    yield from served(tmp_path / "plain", knows_ranges=False)


@pytest.fixture
def ranged(tmp_path: Path) -> Iterator[Mirror]:
    """Serves ranges of files too."""
    yield from served(tmp_path / "ranged", knows_ranges=True)


def served(folder: Path, knows_ranges: bool) -> Iterator[Mirror]:
    mirror = Mirror(folder, knows_ranges)
    fill(folder)
    yield mirror
    mirror.close()


def fill(folder: Path) -> None:
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)


def at(*mirrors: Mirror) -> DataSet:
    return dataclasses.replace(DATA, addresses=tuple(mirror.url for mirror in mirrors))


def get(folder: Path, *mirrors: Mirror) -> Path:
    return fetch_files(at(*mirrors), folder, progress=False)


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_broken_download_goes_on_where_it_stopped(ranged: Mirror, tmp_path: Path) -> None:
    ranged.broken.add("/a.dat")
    with pytest.raises(RecordingFileError, match=r"a\.dat: could not be downloaded; tried 1 addresses"):
        get(tmp_path / "data", ranged)
    starts = [part_size(tmp_path / "data")]
    # Each try brings a part of what is left.
    with pytest.raises(RecordingFileError):
        get(tmp_path / "data", ranged)
    starts.append(part_size(tmp_path / "data"))
    ranged.broken.clear()
    get(tmp_path / "data", ranged)
    assert 0 < starts[0] < starts[1] < 200_000
    assert ranged.ranges == [f"bytes={start}-" for start in starts]
    assert held(tmp_path / "data") == CONTENT


def part_size(folder: Path) -> int:
    """Bytes of the one `.part` file in the folder, which begins as the file does."""
    ((name, part),) = held(folder).items()
    assert name == "a.dat.part"
    assert CONTENT["a.dat"].startswith(part)
    return len(part)


def test_the_next_address_goes_on_from_the_part_of_the_first(
    ranged: Mirror, plain: Mirror, tmp_path: Path
) -> None:
    plain.broken.add("/a.dat")
    get(tmp_path / "data", plain, ranged)
    assert len(ranged.ranges) == 1
    assert ranged.ranges != ["bytes=0-"]
    assert held(tmp_path / "data") == CONTENT


def test_a_server_without_ranges_sends_the_whole_file(plain: Mirror, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.dat.part").write_bytes(CONTENT["a.dat"][:1000])
    get(tmp_path / "data", plain)
    assert plain.ranges == ["bytes=1000-"]
    assert plain.asked == ["/a.dat", "/b.hea"]
    assert held(tmp_path / "data") == CONTENT


@pytest.mark.parametrize("size", [10, 150_000, 200_000, 300_000])
def test_a_part_of_other_bytes_is_dropped(ranged: Mirror, tmp_path: Path, size: int) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.dat.part").write_bytes(b"x" * size)
    get(tmp_path / "data", ranged)
    assert held(tmp_path / "data") == CONTENT


def test_a_part_that_is_longer_than_the_file_of_the_server_is_dropped(ranged: Mirror, tmp_path: Path) -> None:
    (ranged.folder / "a.dat").write_bytes(b"<html>moved</html>")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.dat.part").write_bytes(CONTENT["a.dat"][:1000])
    with pytest.raises(
        RecordingFileError, match=f"wrong checksum, got SHA-256 .*, expected {FILES[0].sha256}"
    ):
        get(tmp_path / "data", ranged)
    assert ranged.asked == ["/a.dat", "/a.dat"]
    assert held(tmp_path / "data") == {}


def test_an_address_that_is_gone_costs_no_part(ranged: Mirror, plain: Mirror, tmp_path: Path) -> None:
    (plain.folder / "a.dat").unlink()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.dat.part").write_bytes(CONTENT["a.dat"][:1000])
    with pytest.raises(RecordingFileError, match="404"):
        get(tmp_path / "data", plain)
    assert held(tmp_path / "data") == {"a.dat.part": CONTENT["a.dat"][:1000]}
    get(tmp_path / "data", plain, ranged)
    assert ranged.ranges == ["bytes=1000-"]


def test_a_file_has_its_name_only_after_its_checksum_agreed(
    ranged: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    judged = public_files._wrong_checksum

    def watched(path: Path, file: DataFile) -> str:
        seen.append((path.name, (tmp_path / "data" / file.name).exists()))
        return judged(path, file)

    monkeypatch.setattr(public_files, "_wrong_checksum", watched)
    get(tmp_path / "data", ranged)
    assert seen == [("a.dat.part", False), ("b.hea.part", False)]


def test_a_file_that_was_placed_by_hand_is_found_and_verified(ranged: Mirror, tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_bytes(CONTENT["a.dat"])
    assert [found.state for found in check_files(DATA, tmp_path)] == ["present", "missing"]
    fetch_files(at(ranged), tmp_path, progress=False)
    assert ranged.asked == ["/b.hea"]
    assert require_files(DATA, tmp_path) == tmp_path
    (tmp_path / "b.hea").write_bytes(b"y" * 70)
    with pytest.raises(RecordingFileError, match=r"^\S+b\.hea: wrong checksum, .*\n.*crest data fetch toy"):
        require_files(DATA, tmp_path)


def test_two_that_fetch_at_once_download_once(ranged: Mirror, tmp_path: Path) -> None:
    threads = [threading.Thread(target=get, args=(tmp_path / "data", ranged)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ranged.asked == ["/a.dat", "/b.hea"]
    assert held(tmp_path / "data") == CONTENT


def test_a_folder_without_any_of_the_files_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RecordingFileError) as caught:
        require_files(DATA, tmp_path)
    assert str(caught.value).splitlines() == [
        f"{tmp_path}: has none of the 2 files, a.dat to b.hea",
        "What to do: run `crest data fetch toy`, or `crest data fetch toy --from-dir FOLDER` with files you have.",
    ]
    with pytest.raises(
        FileNotFoundError, match=r"^from_dir must be a folder with the \.dat, \.hea files, .*gone is"
    ):
        fetch_files(DATA, tmp_path, from_dir=tmp_path / "gone")


def test_a_file_without_a_checksum_only_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(RecordingFileError, match=r"built\.npz: missing\nWhat to do: build it yourself\.$"):
        fetch_files(BY_HAND, tmp_path / "data", progress=False)
    assert file_state(tmp_path / "built.npz", BY_HAND.files[0]).state == "missing"
    (tmp_path / "built.npz").write_bytes(b"anything")
    assert file_state(tmp_path / "built.npz", BY_HAND.files[0]).state == "present"
    fetch_files(BY_HAND, tmp_path / "data", from_dir=tmp_path, progress=False)
    assert held(tmp_path / "data") == {"built.npz": b"anything"}
    assert fetch_files(BY_HAND, tmp_path / "data", progress=False) == tmp_path / "data"


def test_nothing_is_downloaded_without_a_checksum() -> None:
    with pytest.raises(
        ValueError, match=r"^files must have a SHA-256 to be downloaded, got none for built\.npz"
    ):
        dataclasses.replace(BY_HAND, addresses=DATA.addresses)
    with pytest.raises(ValueError, match=r"^by_hand must say how to get toy, which has no address, got ''"):
        dataclasses.replace(DATA, addresses=())


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CREST_DATA", str(tmp_path))
    assert folder_of(DATA) == tmp_path / "toy"
    (tmp_path / "b.hea").touch()
    assert folder_of(DATA) == tmp_path
    monkeypatch.delenv("CREST_DATA")
    assert folder_of(DATA).name == "toy"
    assert "crest" in folder_of(DATA).parts


def test_a_table_of_the_package_is_read_line_by_line() -> None:
    first = listed_files("mitbih")[0]
    assert (first.name, first.size) == ("100.atr", 4558)
    assert first.sha256 == "8d8a5349fb16638ebbf649f1779d12e96d91b736b2aafe59db43719ae583d471"


@pytest.mark.skipif(os.name == "nt", reason="a mode of files that Windows does not have")
def test_a_downloaded_file_has_the_rights_of_any_file(ranged: Mirror, tmp_path: Path) -> None:
    get(tmp_path / "data", ranged)
    (tmp_path / "other").touch()
    assert (tmp_path / "data" / "a.dat").stat().st_mode == (tmp_path / "other").stat().st_mode
