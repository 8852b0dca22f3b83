"""What pyproject.toml declares, which versions are pinned for it, and what make would do with them."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = {
    f"{extra}: {text}": Requirement(text)
    for extra, texts in {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items()
    for text in texts
    # The development extra takes the others.
    if not text.startswith(PROJECT["name"])
}
PINNED = {
    name.lower().replace("_", "-"): Version(version)
    # torch has no hash, and is pinned where it is installed.
    for file, pin in {
        "requirements.lock": r"^([\w.-]+)==(\S+)",
        "Makefile": r"^TORCH \?= (torch)==(\S+)",
    }.items()
    for name, version in re.findall(pin, (ROOT / file).read_text(), re.MULTILINE)
}


def pythons() -> list[str]:
    """The versions of Python that the package says it is for, from the lowest."""
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    return sorted(named, key=Version)


def steps(*words: str) -> str:
    """What make would do."""
    if shutil.which("make") is None:
        pytest.skip("make is missing")
    # Whether the environments are there already or not.
    command = ["make", "--dry-run", "--always-make", "--no-print-directory", *words]
    # Not those of a make that runs these tests.
    settings = {"PATH": os.environ["PATH"]}
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=settings).stdout
