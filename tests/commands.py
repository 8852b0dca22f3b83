"""What the tests of the command line share: a command in a process of its own, and what a page shows."""

import json
import re
import subprocess
import sys
from collections.abc import Callable

Command = Callable[..., tuple[str, int]]
"""Runs a command in this process; what it printed, and its exit status."""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crest", *words], capture_output=True, text=True, check=False
    )


def sections(page: str) -> list[str]:
    """The pieces on the page."""
    return re.findall(r'<section id="piece-([\w-]+)"', page)


def explored(page: str) -> dict[str, list[str]]:
    """Readouts in the explorer, by system; empty where there is no explorer."""
    found = re.search(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)
    systems = json.loads(found[1])["systems"] if found else []
    return {system["name"]: [readout["name"] for readout in system["readouts"]] for system in systems}
