"""What a NumPy file holds, told before any of it is read: damaged, hostile and far too large files are refused."""

import io
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

# our choice: docs/choices.md#largest-file
LARGEST = 4 * 2**30
"""Bytes that the arrays of one file may take in memory unless the caller allows more."""

# What zipfile, zlib and NumPy raise for damaged archives: a RuntimeError is an encrypted member, NotImplementedError
# an unknown compression.
_DAMAGED = (OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error)


class ArrayHeader(NamedTuple):
    """Kind and shape of an array that has not been read."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes that it takes in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


def archive_headers(path: Path) -> dict[str, ArrayHeader]:
    """Every array of a .npz file by name, from the headers alone.

    Raises:
        ValueError: The file is no archive of arrays, or is damaged, or holds Python objects.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder) / "a.npz", x=np.zeros((3, 2), np.float32))
        ...     archive_headers(Path(folder) / "a.npz")["x"].size
        24
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {info.filename.removesuffix(".npy"): _member(archive, info) for info in archive.infolist()}
    except _DAMAGED as error:
        raise ValueError(str(error) or type(error).__name__) from error


def array_header(file: io.BufferedIOBase) -> ArrayHeader:
    """Kind and shape of the .npy array that a file starts with; the file is left where its data begin."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"its arrays are of version {version[0]}.{version[1]}, which is not read here")
    try:
        shape, _, dtype = readers[version](file)
    # What NumPy's parser of headers lets through when they are damaged.
    except (SyntaxError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as error:
        raise ValueError(f"the header of an array is damaged ({error})") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which only a pickle could restore: save plain numbers")
    # NumPy's parser takes a negative length, and the product of two of them is a size that looks right.
    if any(length < 0 for length in shape):
        raise ValueError(f"the header of an array is damaged (shape {shape})")
    return ArrayHeader(dtype, tuple(shape))


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> ArrayHeader:
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


def read_archive(path: Path, largest: int | None = None) -> dict[str, npt.NDArray[Any]]:
    """All arrays of a .npz file, after a look at their headers.

    Args:
        path: of the file.
        largest: bytes that they may take in memory.
    """
    require_room({name: header.size for name, header in archive_headers(path).items()}, largest)
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except _DAMAGED as error:
        raise ValueError(str(error) or type(error).__name__) from error
