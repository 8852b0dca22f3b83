"""Files that are damaged, hostile or too large are refused before anything of their size is allocated."""

import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crest.recordings.archives import LARGEST, array_header, read_archive, read_npy, require_room
from crest.recordings.signal_files import read_signal
from crest.recordings.storage import load

GIB = 2**30


def bomb(path: Path, name: str = "x", shape: tuple[int, ...] = (2**31,)) -> Path:
    """A small archive whose one array of zeros takes 16 GiB in memory."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    zeros = bytes(2**24)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(f"{name}.npy", "w", force_zip64=True) as file,
    ):
        file.write(header.getvalue())
        left = 8 * int(np.prod(shape))
        while left > 0:
            left -= file.write(zeros[:left])
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quarter of a gibibyte of zeros in a small file, to be refused under a smaller limit."""
    path = bomb(tmp_path_factory.mktemp("bomb") / "large.npz", shape=(2**25,))
    assert path.stat().st_size < 2**20
    return path


def peak(work: Any) -> int:
    """Bytes that Python and NumPy allocated at most while something failed."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than largest"):
            work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(5),
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        np.zeros((0, 3)),
        np.array("text"),
        np.array([True, False]),
        np.arange(2**19, dtype=">f8"),
        np.zeros(2, [("a", "<i4"), ("b", "<f8", (3,))]),
        np.empty((3,), "<U0"),
    ],
)
def test_arrays_come_back_as_numpy_has_them(tmp_path: Path, array: np.ndarray[Any, Any]) -> None:
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", x=array, y=np.arange(3))
    np.savez_compressed(tmp_path / "b.npz", x=array)
    for found in (
        read_npy(tmp_path / "a.npy"),
        *(read_archive(tmp_path / name)["x"] for name in ("a.npz", "b.npz")),
    ):
        np.testing.assert_array_equal(found, array, strict=True)
        assert found.flags.writeable
    assert list(read_archive(tmp_path / "a.npz", choose=lambda names: sorted(names)[1:])) == ["y"]


def test_a_small_file_that_stands_for_a_large_array_is_refused_before_it_is_read(large: Path) -> None:
    limit = 2**20
    assert peak(lambda: read_archive(large, limit)) < limit
    assert peak(lambda: read_signal(large, largest=limit)) < limit
    assert peak(lambda: load(large, largest=limit)) < limit
    assert read_signal(large, largest=GIB).samples.shape == (2**25, 1)


def test_the_limit_has_a_default() -> None:
    require_room({"x": LARGEST - 8, "y": 8}, None)
    with pytest.raises(ValueError, match=rf"more than largest = {LARGEST}: x has {LARGEST - 8} of them"):
        require_room({"x": LARGEST - 8, "y": 9}, None)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"shape": (2**40,)}, "damaged"),
        ({"shape": (-5,)}, "damaged"),
        ({"shape": "many"}, "shape is not valid"),
        ({"descr": "<q9"}, "not a valid dtype"),
        ({"descr": "|O"}, "Python objects"),
        ({"descr": [("a", "|O")]}, "Python objects"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    text = repr({"descr": "<f8", "fortran_order": False, "shape": (4,), **change})
    line = f"{text:<117}\n".encode()
    content = b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + bytes(32)
    (tmp_path / "a.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(ValueError, match=reason):
            read_signal(tmp_path / name)
    with pytest.raises(ValueError, match=reason):
        read_archive(tmp_path / "a.npz")


def test_nobody_is_told_to_load_a_pickle(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([{}], dtype=object))
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    (tmp_path / "b.npz").write_bytes(b"\x80\x04K\x01.")
    for name in ("a.npz", "a.npy", "b.npz"):
        with pytest.raises(ValueError, match="cannot be read") as caught:
            read_signal(tmp_path / name)
        assert "allow_pickle" not in str(caught.value)


def test_a_future_version_is_named() -> None:
    with pytest.raises(ValueError, match=r"version 3\.0, which is not read here"):
        array_header(io.BytesIO(b"\x93NUMPY\x03\x00" + bytes(64)))  # type: ignore[arg-type]


def npy(count: int) -> bytes:
    with io.BytesIO() as file:
        np.save(file, np.zeros(count, np.float32))
        return file.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "names", [("sig", "sig.npy"), ("sig.npy", "sig"), ("sig.npy", "sig.npy"), ("sig", "sig")]
)
@pytest.mark.parametrize("sizes", [(10**6, 3), (3, 10**6)])
def test_twins_of_names_are_refused(tmp_path: Path, names: tuple[str, str], sizes: tuple[int, int]) -> None:
    """The small one was judged, and the large one was read."""
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, size in zip(names, sizes, strict=True):
            archive.writestr(name, npy(size))
    for key in (None, "sig"):
        with pytest.raises(ValueError, match="its arrays must have names of their own, got 'sig' twice"):
            read_signal(path, key, largest=1000)
    with pytest.raises(ValueError, match="names of their own"):
        load(path, largest=1000)


def test_only_what_is_read_is_judged_and_only_what_numpy_writes_is_unpacked(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", small=np.zeros(3), large=np.zeros(1000))
    assert read_signal(tmp_path / "a.npz", "small", largest=100).samples.shape == (3, 1)
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(tmp_path / "b.npz", "w", kind) as archive:
            archive.writestr("x.npy", npy(3))
        with pytest.raises(ValueError, match=rf"must be packed as NumPy does it, got compression {kind}"):
            read_signal(tmp_path / "b.npz")


def test_a_long_header_is_not_read(tmp_path: Path) -> None:
    content = b"\x93NUMPY\x02\x00" + (2**28).to_bytes(4, "little") + bytes(2**26)
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"damaged \(it has 268435456 bytes, and 10000 are allowed"):
            read_signal(tmp_path / "a.npz")
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", [b"{'descr': '<f4', 'shape': (3,", b"(" * 9000, b"'", b"{'a': [", b"\x00"])
def test_a_header_that_cannot_be_parsed_is_refused_at_every_door(tmp_path: Path, text: bytes) -> None:
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("about.npy", content)
    with pytest.raises(
        ValueError, match=r"a\.npz is not a file of trajectories, or is damaged: the header of an array"
    ):
        load(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="the header of an array is damaged"):
        read_signal(tmp_path / "a.npz")


def test_the_file_that_was_judged_is_read_when_another_takes_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By handle: between the look and the reading, a larger file comes in the place of the small one."""
    for name in ("a.npy", "a.npz"):
        path, larger = tmp_path / name, tmp_path / f"larger-{name}"
        for place, size in ((path, 3), (larger, 10**6)):
            with place.open("wb") as file:
                (np.save if name == "a.npy" else np.savez)(file, np.zeros(size))

        def judged(sizes: object, largest: object, path: Path = path, larger: Path = larger) -> None:
            require_room(sizes, largest)  # type: ignore[arg-type]
            larger.replace(path)

        monkeypatch.setattr("crest.recordings.archives.require_room", judged)
        assert read_signal(path, largest=1000).samples.shape == (3, 1)
        assert path.stat().st_size > 10**6


@pytest.mark.parametrize("follow", [0, 11, 13, 40])
def test_an_array_of_an_archive_must_have_as_many_bytes_as_its_header_says(
    follow: int, tmp_path: Path
) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (3,)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(follow))
    with pytest.raises(ValueError, match=f"x.npy is damaged: its header asks for 12 bytes, {follow} follow"):
        read_archive(tmp_path / "a.npz")
