"""A program that reads .mat files for `mat_files`, so that a file which kills SciPy's reader kills only this process.

It imports nothing of crest: `python mat_child.py LIMIT` reads one JSON request per line from its standard input and
answers on its standard output, a JSON line each, and behind the answer to "read" the bytes of the array.
"""

import contextlib
import json
import sys
import warnings
from typing import Any

import numpy as np
import scipy.io


def _listed(path: str) -> dict[str, Any]:
    """Names, shapes and MATLAB classes of what a file holds, without its data."""
    try:
        return {"arrays": [[name, list(shape), kind] for name, shape, kind in scipy.io.whosmat(path)]}
    except NotImplementedError:
        return {
            "error": "it is a MATLAB v7.3 file (HDF5), which is not read here; in MATLAB, save it with '-v7'"
        }


def _read(path: str, names: list[str]) -> tuple[dict[str, Any], list[bytes]]:
    """Arrays of numbers, as descriptions and bytes; what is missing or no plain array is left out."""
    content = scipy.io.loadmat(path, variable_names=names)
    arrays = {
        name: np.ascontiguousarray(content[name])
        for name in names
        if isinstance(content.get(name), np.ndarray) and content[name].dtype.kind in "biufc"
    }
    about = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    return {"arrays": about}, [array.tobytes() for array in arrays.values()]


def _answer(request: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """What to say to a request; damaged files make SciPy raise almost anything."""
    try:
        if "names" in request:
            return _read(request["path"], request["names"])
        return _listed(request["path"]), []
    except Exception as error:
        return {"error": str(error) or type(error).__name__}, []


def serve() -> None:
    """Answer until the standard input ends, which it does when the parent dies."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415, not on Windows

        limit = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    warnings.simplefilter("ignore")
    out = sys.stdout.buffer
    for line in sys.stdin:
        about, parts = _answer(json.loads(line))
        out.write(json.dumps(about).encode() + b"\n")
        for part in parts:
            out.write(part)
        out.flush()


if __name__ == "__main__":
    serve()
