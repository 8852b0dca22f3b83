"""What can go wrong with a machine: processes that are killed, and disks that are full or closed."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.runs import store_worker


class Workers:
    """The program of store_worker.py, and what its children said."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, store_worker.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.said: list[tuple[str, str]] = []
        self.living: set[int] = set()

    def wait_for(self, word: str) -> str:
        """The rest of the first line, of those not asked for yet, that begins with the word."""
        # A child may speak before its parent tells that it has started.
        for place, (said, rest) in enumerate(self.said):
            if said == word:
                del self.said[place]
                return rest
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said, _, rest = line.strip().partition(" ")
            if said == word:
                return rest
            self.said.append((said, rest))
        raise AssertionError(f"the workers ended without {word}; they said {self.said[-5:]}")

    def _tell(self, *words: object) -> None:
        assert self.process.stdin is not None
        print(*words, file=self.process.stdin, flush=True)

    def start(self, job: str, *arguments: object) -> int:
        self._tell("start", job, *arguments)
        child = int(self.wait_for("started"))
        self.living.add(child)
        return child

    def kill(self, child: int) -> int:
        self.living.discard(child)
        self._tell("kill", child)
        return int(self.wait_for("ended"))

    def join(self, child: int) -> int:
        self.living.discard(child)
        self._tell("join", child)
        return int(self.wait_for("ended"))


def mount(folder: Path, options: str) -> None:
    folder.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder],
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a disk of our own needs the right to mount: {getattr(error, 'stderr', error)}")
