"""Arrays of NumPy files, judged by their headers before any of them is read: what was judged is what is read."""

import collections
import io
import math
import os
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

# our choice: docs/evidence/choices.md#largest-file
LARGEST = 4 * 2**30
"""Bytes that the arrays of one file may take in memory unless the caller allows more."""
_PIECE = 2**20
"""Bytes that are read at a time."""
_HEADER = 10_000
"""Bytes of a header: NumPy's own limit, which it applies after it has read the header."""
_TOLD = 5
"""So many names are told in a message."""
# What NumPy writes. Of the others zipfile unpacks without a limit: a bzip2 block of 40 bytes becomes 45 MB at once.
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class ArrayHeader(NamedTuple):
    """Kind and shape of an array that has not been read."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool = False
    """Whether its first axis runs fastest."""

    @property
    def size(self) -> int:
        """Bytes that it takes in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


def array_header(file: io.BufferedIOBase) -> ArrayHeader:
    """Kind and shape of the .npy array that a file starts with; the file is left where its data begin."""
    version = np.lib.format.read_magic(file)
    # By version: the bytes that tell the length of the header, and what reads it.
    readers = {
        (1, 0): (2, np.lib.format.read_array_header_1_0),
        (2, 0): (4, np.lib.format.read_array_header_2_0),
    }
    if version not in readers:
        raise ValueError(f"its arrays are of version {version[0]}.{version[1]}, which is not read here")
    count, reader = readers[version]
    start = file.read(count)
    length = int.from_bytes(start, "little")
    if length > _HEADER:
        raise ValueError(
            f"the header of an array is damaged (it has {length} bytes, and {_HEADER} are allowed)"
        )
    try:
        shape, fortran, dtype = reader(io.BytesIO(start + file.read(length)))
    # NumPy parses a header as Python, by a tokenizer too: when it is damaged, almost anything is raised.
    except Exception as error:
        raise ValueError(f"the header of an array is damaged ({error})") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which only a pickle could restore: save plain numbers")
    # NumPy's parser takes a negative length, and the product of two of them is a size that looks right.
    if any(length < 0 for length in shape):
        raise ValueError(f"the header of an array is damaged (shape {shape})")
    return ArrayHeader(dtype, tuple(shape), fortran)


def read_array(file: io.BufferedIOBase, header: ArrayHeader) -> npt.NDArray[Any]:
    """The array whose data begin where the file is, read piece by piece.

    Example:
        >>> read_array(io.BytesIO(bytes([1, 0, 2, 0])), ArrayHeader(np.dtype("<i2"), (2,))).tolist()
        [1, 2]
    """
    # Memory that nothing was written to takes no room yet, so a file that ends early takes no more than it has.
    content = np.empty(header.size, np.uint8)
    left = content.data
    while left:
        count = file.readinto(left[:_PIECE])
        if not count:
            raise ValueError(f"it is damaged: it ends {len(left)} bytes too early")
        left = left[count:]
    return np.ndarray(header.shape, header.dtype, content, order="F" if header.fortran else "C")


def read_npy(path: Path, largest: int | None = None) -> npt.NDArray[Any]:
    """The array of a .npy file, after a look at its header; nothing is unpickled.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.save(Path(folder) / "a.npy", np.arange(3))
        ...     read_npy(Path(folder) / "a.npy").tolist()
        [0, 1, 2]
    """
    with path.open("rb") as file:
        _require_start(file, b"\x93NUMPY", ".npy")
        header = array_header(file)
        left = os.fstat(file.fileno()).st_size - file.tell()
        if left < header.size:
            raise ValueError(f"it is damaged: its header asks for {header.size} bytes, {left} follow")
        require_room({path.name: header.size}, largest)
        return read_array(file, header)


def read_archive(
    path: Path,
    largest: int | None = None,
    choose: Callable[[Collection[str]], Iterable[str]] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """Arrays of a .npz file by name, after a look at their headers.

    Args:
        path: of the file.
        largest: bytes that they may take in memory.
        choose: from the names of all arrays to those that are read; by default all.

    Raises:
        ValueError: The file is no archive of arrays, is damaged or too large, holds Python objects, or two of its members have
            one name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder) / "a.npz", x=np.arange(3), y=np.zeros(5))
        ...     read_archive(Path(folder) / "a.npz", choose=lambda names: ["x"])
        {'x': array([0, 1, 2])}
    """
    try:
        with path.open("rb") as file:
            _require_start(file, b"PK", ".npz")
            with zipfile.ZipFile(file) as archive:
                members = _members(archive)
                chosen = list(members if choose is None else choose(members.keys()))
                headers = {name: _judged(archive, members[name]) for name in chosen}
                require_room({name: header.size for name, header in headers.items()}, largest)
                return {
                    name: _read_member(archive, members[name], header) for name, header in headers.items()
                }
    except Exception as error:  # damaged archives make zipfile raise almost anything
        raise ValueError(str(error) or type(error).__name__) from error


def _require_start(file: io.BufferedIOBase, start: bytes, kind: str) -> None:
    """Refuse a file of another kind: NumPy would take it for a pickle, and say how to load it unsafely."""
    others = {b"\x93NUMPY": ".npy", b"PK": ".npz"}
    found = file.read(6)
    file.seek(0)
    if not found.startswith(start):
        other = next((name for begin, name in others.items() if found.startswith(begin)), None)
        raise ValueError(f"it is {'not a ' + kind if other is None else 'a ' + other} file by its content")


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members by the names of their arrays. They are opened by what is found here, never again by name."""
    infos = archive.infolist()
    names = [info.filename.removesuffix(".npy") for info in infos]
    require_own_names("arrays", names)
    return dict(zip(names, infos, strict=True))


def _judged(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> ArrayHeader:
    if info.compress_type not in _COMPRESSIONS:
        raise ValueError(
            f"{info.filename} must be packed as NumPy does it, got compression {info.compress_type}"
        )
    with archive.open(info) as file:
        # The stub says less than the class is.
        header = array_header(cast("io.BufferedIOBase", file))
        start = file.tell()
    # The archive's directory says how long the member is unpacked. A bomb lies in one of the two, so they must agree:
    # `require_room` then judges the header's size, and no more than that is ever allocated.
    if info.file_size - start != header.size:
        raise ValueError(
            f"{info.filename} is damaged: its header asks for {header.size} bytes, {info.file_size - start} follow"
        )
    return header


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: ArrayHeader) -> npt.NDArray[Any]:
    # Opened again: many members at once would hold as many decompressors.
    with archive.open(info) as opened:
        file = cast("io.BufferedIOBase", opened)
        if array_header(file) != header:
            raise ValueError(f"{info.filename} was changed while it was read")
        return read_array(file, header)


def require_own_names(what: str, names: Iterable[str]) -> None:
    """Refuse names of which one is there twice: what is judged under it need not be what is read under it.

    Example:
        >>> require_own_names("columns", ["x", "y", "x"])
        Traceback (most recent call last):
        ValueError: its columns must have names of their own, got 'x' twice
    """
    repeated = [name for name, count in collections.Counter(names).items() if count > 1]
    if repeated:
        told = ", ".join(map(repr, sorted(repeated)[:_TOLD]))
        raise ValueError(f"its {what} must have names of their own, got {told} twice")


def require_room(sizes: Mapping[str, int], largest: int | None) -> None:
    """Refuse arrays that together take more memory than `largest` bytes (`LARGEST` for None).

    Example:
        >>> require_room({"x": 24}, 16)
        Traceback (most recent call last):
        ValueError: its arrays take 24 bytes in memory, more than largest = 16: x has 24 of them
    """
    most = LARGEST if largest is None else largest
    total = sum(sizes.values())
    if total > most:
        name = max(sizes, key=sizes.__getitem__)
        raise ValueError(
            f"its arrays take {total} bytes in memory, more than largest = {most}: {name} has {sizes[name]} of them"
        )
