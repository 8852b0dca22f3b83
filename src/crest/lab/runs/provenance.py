"""Where numbers come from: versions, source, processor, memory."""

import functools
import hashlib
import platform
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import torch

import crest

_PACKAGE = Path(crest.__file__).parent
# What comes after the numbers cannot change them.
_AFTER = ("lab/cli", "lab/evidence", "lab/report", "lab/benchmarks", "__main__.py")


@functools.cache
def versions() -> dict[str, str]:
    """Versions of what decides the numbers, the source included, and the processor that rounds them."""
    packages = {name: metadata.version(name) for name in ("torch", "numpy", "numba", "scipy")}
    return {
        "crest": crest.__version__,
        "source": source_digest(),
        "python": platform.python_version(),
        **packages,
        "processor": _processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


@functools.cache
def source_digest() -> str:
    """Names the source that the numbers come from: two processes with the same one run the same code."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        place = path.relative_to(_PACKAGE)
        if not any(place.is_relative_to(after) for after in _AFTER):
            digest.update(f"{place.as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def _processor() -> str:
    """Model of the processor, as Linux names it; elsewhere its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


@functools.cache
def commit() -> str | None:
    """Commit of the source tree that this package runs from, with a + if it was changed; None outside of one."""
    git = ["git", "-C", str(_PACKAGE)]
    try:
        tracked = subprocess.run(
            [*git, "ls-files", "--error-unmatch", "__init__.py"], capture_output=True, check=False
        )
        if tracked.returncode:
            return None
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no", "--", str(_PACKAGE)],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def start_measuring_memory() -> None:
    """Let `peak_memory` count from now, if the system can."""
    try:
        # Linux: forget the largest resident size so far
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        return


def peak_memory() -> float:
    """Largest resident size of this process, in MiB: since `start_measuring_memory` on Linux, else ever."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 2**10
    except (OSError, StopIteration):
        # macOS counts in bytes, others in KiB
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
