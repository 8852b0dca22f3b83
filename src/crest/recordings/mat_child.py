"""A program that reads .mat files for `mat_files`, so that a file which kills its reader kills only this process.

It imports nothing of crest: `python mat_child.py LIMIT` reads one JSON request per line from its standard input and
answers on its standard output, a JSON line each, and behind the answer to "read" the bytes of the array.
"""

import contextlib
import json
import os
import sys
import warnings
from typing import Any

import numpy as np
import scipy.io


class _MissingError(Exception):
    """A package without which this file cannot be read."""


def _is_hdf5(path: str) -> bool:
    """Whether a file is of version 7.3, which is HDF5 behind 512 bytes of MATLAB's."""
    # By the version in its header, in either order of bytes.
    with open(path, "rb") as file:
        return file.read(128)[124:128] in (b"\x00\x02IM", b"\x02\x00MI")


def _opened(path: str) -> Any:
    # Filters that are no part of HDF5 would be loaded from wherever a variable of the system says.
    os.environ["HDF5_PLUGIN_PRELOAD"] = "::"
    try:
        import h5py  # noqa: PLC0415, only files of version 7.3 need it
    except ImportError as error:
        raise _MissingError("h5py") from error
    return h5py.File(path, "r")


def _datasets(file: Any) -> dict[str, Any]:
    """The arrays of a file of version 7.3. What leads to another file is none."""
    import h5py  # noqa: PLC0415

    # Soft and external links, virtual and external data: each can name any file that this user may read.
    here = [name for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
    found = {name: file[name] for name in here}
    return {
        name: data
        for name, data in found.items()
        if isinstance(data, h5py.Dataset) and not data.is_virtual and data.external is None
    }


def _listed(path: str) -> dict[str, Any]:
    """Names, shapes and MATLAB classes of what a file holds, without its data."""
    if not _is_hdf5(path):
        return {"arrays": [[name, list(shape), kind] for name, shape, kind in scipy.io.whosmat(path)]}
    with _opened(path) as file:
        # MATLAB's axes run the other way.
        return {
            "arrays": [[name, list(data.shape)[::-1], _class(data)] for name, data in _datasets(file).items()]
        }


def _class(data: Any) -> str:
    """MATLAB's name of what a dataset holds."""
    kind = data.attrs.get("MATLAB_class", str(data.dtype))
    return kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)


def _read_hdf5(path: str, names: list[str]) -> dict[str, Any]:
    """Arrays of a file of version 7.3 by name; texts, cells and empty ones, which are stored as numbers, are none."""
    with _opened(path) as file:
        there = _datasets(file)
        arrays = {
            name: there[name][()].T
            for name in names
            if name in there
            # What the parent reckons with: sixteen bytes at most.
            and (there[name].dtype.kind in "biuf" or there[name].dtype.names == ("real", "imag"))
            and there[name].dtype.itemsize <= 16
            and _class(there[name]) not in ("char", "cell", "struct", "function_handle")
            and "MATLAB_empty" not in there[name].attrs
        }
    return {
        name: array["real"] + 1j * array["imag"] if array.dtype.names == ("real", "imag") else array
        for name, array in arrays.items()
    }


def _read(path: str, names: list[str], largest: int) -> tuple[dict[str, Any], list[bytes]]:
    """Arrays of numbers, as descriptions and bytes; what is missing or no plain array is left out."""
    content = _read_hdf5(path, names) if _is_hdf5(path) else scipy.io.loadmat(path, variable_names=names)
    arrays = {
        name: np.ascontiguousarray(content[name])
        for name in names
        if isinstance(content.get(name), np.ndarray) and content[name].dtype.kind in "biufc"
    }
    # The file may be another one by now than the one that the parent judged by its list.
    total = sum(array.nbytes for array in arrays.values())
    if total > largest:
        raise ValueError(f"its arrays take {total} bytes in memory, more than largest = {largest}")
    about = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    return {"arrays": about}, [array.tobytes() for array in arrays.values()]


def _answer(request: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """What to say to a request; damaged files make SciPy raise almost anything."""
    try:
        if "names" in request:
            return _read(request["path"], request["names"], request["largest"])
        return _listed(request["path"]), []
    except _MissingError as error:
        return {"error": "it is missing", "missing": str(error)}, []
    except Exception as error:
        return {"error": str(error) or type(error).__name__}, []


def serve() -> None:
    """Answer until the standard input ends, which it does when the parent dies."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415, not on Windows

        # A damaged header can ask for terabytes. A MemoryError can be reported; a machine that swaps cannot.
        limit = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    # The parent reads the response alone, not our standard error.
    warnings.simplefilter("ignore")
    out = sys.stdout.buffer
    for line in sys.stdin:
        about, parts = _answer(json.loads(line))
        out.write(json.dumps(about).encode() + b"\n")
        # Raw bytes, whose number the JSON line told: no pickle ever crosses the pipe.
        for part in parts:
            out.write(part)
        out.flush()


if __name__ == "__main__":
    serve()
