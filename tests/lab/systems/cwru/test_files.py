"""Files of the recordings: fetched whole from mirrors or a folder, or a clear error."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from crest.lab.systems.cwru.files import (
    CWRU,
    RECORDINGS,
    RecordingFile,
    RecordingFileError,
    check_recordings,
    data_folder,
    fetch_recordings,
    require_recordings,
)
from crest.lab.systems.cwru.order_tracking import SKF
from file_server import Mirror

CONTENT = {number: bytes([number]) * (5000 + number) for number in (1, 2, 3)}
TABLE = tuple(
    RecordingFile(number, 0.007, 0, SKF, len(content), hashlib.sha256(content).hexdigest())
    for number, content in CONTENT.items()
)


@pytest.fixture
def mirrors(tmp_path: Path) -> Iterator[tuple[Mirror, Mirror]]:
    made = Mirror(tmp_path / "first"), Mirror(tmp_path / "second")
    fill(made[1].folder)
    yield made
    for mirror in made:
        mirror.close()


def fill(folder: Path, *numbers: int) -> None:
    folder.mkdir(exist_ok=True)
    for number in numbers or CONTENT:
        (folder / f"{number}.mat").write_bytes(CONTENT[number])


def get(folder: Path, *mirrors: Mirror) -> Path:
    return fetch_recordings(
        folder, mirrors=[mirror.url for mirror in mirrors], progress=False, recordings=TABLE
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_table_is_the_papers() -> None:
    assert len({file.number for file in RECORDINGS}) == len({file.sha256 for file in RECORDINGS}) == 16
    assert {(file.diameter, file.load) for file in RECORDINGS} == {
        (size, load) for size in (0.007, 0.014, 0.021, 0.028) for load in range(4)
    }
    orders = {file.bearing.inner_race_order for file in RECORDINGS if file.diameter == 0.028}
    assert orders == {5.320}
    assert CWRU.files == RECORDINGS


def test_the_second_mirror_serves_what_the_first_lacks(
    mirrors: tuple[Mirror, Mirror], tmp_path: Path
) -> None:
    assert get(tmp_path / "data", *mirrors) == tmp_path / "data"
    assert [path.read_bytes() for path in sorted((tmp_path / "data").iterdir())] == list(CONTENT.values())
    assert mirrors[0].asked == mirrors[1].asked == ["/1.mat", "/2.mat", "/3.mat"]


def test_a_broken_run_is_taken_up(mirrors: tuple[Mirror, Mirror], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    fill(folder, 1)
    (folder / "2.mat").write_bytes(CONTENT[2][:100])
    get(folder, mirrors[1])
    assert mirrors[1].asked == ["/2.mat", "/3.mat"]
    assert require_recordings(folder, TABLE) == folder
    get(folder, mirrors[1])
    assert len(mirrors[1].asked) == 2


def test_half_a_download_is_never_taken_for_a_file(mirrors: tuple[Mirror, Mirror], tmp_path: Path) -> None:
    mirrors[1].broken.add("/2.mat")
    with pytest.raises(RecordingFileError, match=r"2\.mat: could not be downloaded") as caught:
        get(tmp_path / "data", *mirrors)
    assert mirrors[0].url in str(caught.value)
    assert mirrors[1].url in str(caught.value)
    assert "--from-dir" in str(caught.value)
    # The half stays under a name of its own, for the next try.
    assert names(tmp_path / "data") == ["1.mat", "2.mat.part"]
    with pytest.raises(RecordingFileError, match=r"2\.mat: missing"):
        require_recordings(tmp_path / "data", TABLE)


def test_wrong_bytes_from_a_mirror_are_refused(mirrors: tuple[Mirror, Mirror], tmp_path: Path) -> None:
    (mirrors[1].folder / "1.mat").write_bytes(b"<html>moved</html>")
    with pytest.raises(RecordingFileError, match=TABLE[0].sha256):
        get(tmp_path / "data", mirrors[1])
    assert names(tmp_path / "data") == []
    fill(mirrors[0].folder)
    get(tmp_path / "data", mirrors[1], mirrors[0])
    assert require_recordings(tmp_path / "data", TABLE)


def test_a_folder_is_copied_after_its_check(tmp_path: Path) -> None:
    fill(tmp_path / "mine", 1, 3)
    (tmp_path / "mine" / "3.mat").write_bytes(CONTENT[3][:-1] + b"x")
    with pytest.raises(RecordingFileError) as caught:
        fetch_recordings(tmp_path / "data", from_dir=tmp_path / "mine", progress=False, recordings=TABLE)
    assert re.search(r"mine/2\.mat: missing\n", str(caught.value))
    assert re.search(
        rf"mine/3\.mat: wrong checksum, got SHA-256 \w+, expected {TABLE[2].sha256}", str(caught.value)
    )
    assert names(tmp_path / "data") == ["1.mat"]
    fill(tmp_path / "mine")
    fetch_recordings(tmp_path / "data", from_dir=tmp_path / "mine", recordings=TABLE)
    assert names(tmp_path / "data") == ["1.mat", "2.mat", "3.mat"]


def test_check_tells_present_missing_corrupt(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    (tmp_path / "3.mat").write_bytes(CONTENT[3][:77])
    assert [found.state for found in check_recordings(tmp_path, TABLE)] == ["present", "missing", "corrupt"]
    with pytest.raises(RecordingFileError, match=r"3\.mat: truncated, got 77 of 5003 bytes") as caught:
        require_recordings(tmp_path, TABLE)
    assert "crest data fetch cwru" in str(caught.value)


def test_the_data_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CREST_DATA", str(tmp_path))
    assert data_folder() == tmp_path / "cwru"
    (tmp_path / "105.mat").touch()
    assert data_folder() == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CREST_DATA", "~/bearings")
    assert data_folder().is_relative_to(tmp_path / "bearings")
    monkeypatch.delenv("CREST_DATA")
    assert data_folder().name == "cwru"
    assert "crest" in data_folder().parts
