"""MATLAB's .mat files, read by another process: a damaged one can kill its reader, and must not kill this one."""

import atexit
import importlib.util
import json
import math
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crest._base.extras import missing_extra
from crest.recordings.archives import LARGEST, require_own_names, require_room

# Seconds for one answer. A sound file takes well below one; a damaged one can keep the reader busy for ever.
_PATIENCE = 60.0
# Bytes for the reader itself, and how often it holds an array while it sends it.
_READER = 2**31
_COPIES = 3
_PROGRAM = Path(__file__).with_name("mat_child.py")


class MatArray(NamedTuple):
    """What a .mat file says about one of its arrays."""

    name: str
    shape: tuple[int, ...]
    kind: str
    """MATLAB's class, such as "double" or "struct"."""

    @property
    def size(self) -> int:
        """Bytes that it takes in memory at most: MATLAB's widest number is a complex double."""
        return 16 * math.prod(self.shape)


def mat_arrays(path: Path) -> list[MatArray]:
    """The arrays of a .mat file by name, shape and class; its data are not read.

    Raises:
        ValueError: The file is no .mat file that can be read here, or is damaged.
        ImportError: SciPy is missing, or h5py for a file of version 7.3.
    """
    about, _ = _READ_BY.ask({"path": str(path.resolve())}, LARGEST)
    found = [MatArray(name, tuple(shape), kind) for name, shape, kind in about["arrays"]]
    require_own_names("arrays", [array.name for array in found])
    return found


def read_mat(path: Path, names: Sequence[str], largest: int | None = None) -> dict[str, npt.NDArray[Any]]:
    """The arrays of these names, as MATLAB has them: a vector is a row or a column.

    Args:
        path: of the file.
        names: what to read; a name that the file does not have, or that is no array of numbers, is left out.
        largest: bytes that the arrays may take in memory; 4 GiB by default.

    Raises:
        ValueError: The file is damaged, or too large.
    """
    require_room({array.name: array.size for array in mat_arrays(path) if array.name in names}, largest)
    most = LARGEST if largest is None else largest
    request = {"path": str(path.resolve()), "names": list(names), "largest": most}
    about, parts = _READ_BY.ask(request, most)
    return {
        name: np.frombuffer(part, dtype).reshape(shape)
        for part, (name, (dtype, shape)) in zip(parts, about["arrays"].items(), strict=True)
    }


class _Reader:
    """The other process. It starts with the first request, and again after a file that killed it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._limit = 0

    def ask(self, request: dict[str, Any], largest: int) -> tuple[dict[str, Any], list[bytes]]:
        """The answer, and the bytes behind it; a ValueError if the reader finds the file bad or dies of it."""
        # One request at a time: answers come back in order, and nothing in them says whose they are.
        with self._lock:
            # The limit is on addresses, not on memory in use: it also holds what libraries map and never touch.
            stream = _Stream(self._start(_READER + _COPIES * largest), time.monotonic() + _PATIENCE)
            try:
                stream.write(json.dumps(request).encode() + b"\n")
                about = json.loads(stream.line())
                wanted = about.get("arrays", {}).values() if "names" in request else ()
                parts = [stream.exactly(np.dtype(kind).itemsize * math.prod(shape)) for kind, shape in wanted]
            # Ctrl-C too: half an answer in the pipe would be taken for the next one's.
            except BaseException as error:
                # The process goes in any case: whatever it would still send belongs to this request.
                reason = self.stop()
                if isinstance(error, TimeoutError):
                    raise ValueError(f"the reader did not finish within {_PATIENCE:g} s: damaged?") from error
                if isinstance(error, OSError | EOFError | ValueError):
                    raise ValueError(f"the reader died of it ({reason}): damaged?") from error
                raise
        if "missing" in about:
            told = missing_extra("a .mat file of version 7.3", about["missing"], "recordings")
            raise ImportError(f"{told} Or save it with '-v7' in MATLAB.")
        if "error" in about:
            raise ValueError(about["error"])
        return about, parts

    def _start(self, limit: int) -> "subprocess.Popen[bytes]":
        # A forked child has the parent's pipes: it must not listen to the parent's answers.
        if self._process is not None and self._owner != os.getpid():
            self._process = None
        # A limit can be lowered from inside and never raised: a larger file needs a new process.
        if self._process is not None and (self._process.poll() is not None or self._limit < limit):
            self.stop()
        if self._process is None:
            if importlib.util.find_spec("scipy") is None:
                raise ImportError(missing_extra("a .mat file", "scipy", "recordings"))
            # -I: nothing of the user's folder or PYTHONPATH may stand in for NumPy or SciPy there.
            command = [sys.executable, "-I", str(_PROGRAM), str(limit)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._owner, self._limit = os.getpid(), limit
        return self._process

    def stop(self) -> str:
        """End the process; how it ended, in words."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return "not started"
        try:
            # A process that died of a file is about to be reaped, and then tells its signal. Only a living one is killed.
            status = process.wait(0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        return f"signal {-status}" if status < 0 else f"status {status}"


class _Stream:
    """The pipes of a process, read and written up to a deadline."""

    def __init__(self, process: "subprocess.Popen[bytes]", deadline: float) -> None:
        if process.stdin is None or process.stdout is None:
            raise OSError("the reader has no pipes")
        self._input = process.stdin
        self._output = process.stdout.fileno()
        self._deadline = deadline
        self._pending = bytearray()

    def write(self, content: bytes) -> None:
        self._input.write(content)
        self._input.flush()

    def line(self) -> bytes:
        while b"\n" not in self._pending:
            self._more()
        return self._take(self._pending.index(b"\n") + 1)

    def exactly(self, count: int) -> bytes:
        while len(self._pending) < count:
            self._more()
        return self._take(count)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._pending[:count])
        del self._pending[:count]
        return taken

    def _more(self) -> None:
        # select, and not a blocking read: a reader that hangs would otherwise take this process with it.
        ready, _, _ = select.select([self._output], [], [], max(0.0, self._deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        part = os.read(self._output, 2**20)
        if not part:
            raise EOFError
        self._pending += part


# One for all: to start Python with SciPy takes a good part of a second, and a table may list a thousand files.
_READ_BY = _Reader()
atexit.register(_READ_BY.stop)
