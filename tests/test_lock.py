"""The lock: one version and its hashes for all that the development environment needs, but torch; and make installs by it."""

import importlib.metadata
import re
import subprocess
import tomllib
from itertools import product

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pins import PINNED, PROJECT, pythons, steps
from places import ROOT

TEXT = (ROOT / "requirements.lock").read_text()
LOCKED = [
    Requirement(line.removesuffix("\\")) for line in TEXT.splitlines() if not line.startswith((" ", "#"))
]
HASH = r"    --hash=sha256:[0-9a-f]{64}( \\)?"
# What torch's builds for CUDA need comes with torch, without a hash.
OF_TORCH = re.compile(r"torch|triton|(nvidia|cuda)-.*")
MACHINES = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
}


EVERYWHERE = [
    {**machine, "python_version": python, "python_full_version": f"{python}.9"}
    for python, machine in product(pythons(), MACHINES.values())
]
"""The environments that the lock is for, as markers see them."""


def needed(requirement: Requirement, seen: set[tuple[str, str]]) -> None:
    """Add the names that a requirement leads to here, with its extras, as far as what is installed is what is locked."""
    name = canonicalize_name(requirement.name)
    for extra in ("", *requirement.extras):
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        if OF_TORCH.fullmatch(name) and name != "torch":
            continue
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        # Other versions, as `make versions` installs them, have needs of their own.
        if name != PROJECT["name"] and found.version.partition("+")[0] != str(PINNED.get(name)):
            continue
        for text in found.requires or []:
            other = Requirement(text)
            if other.marker is None or other.marker.evaluate({"extra": extra}):
                needed(other, seen)


def test_every_entry_has_one_version_and_its_hashes_and_no_address() -> None:
    assert len(LOCKED) > 100
    assert all([one.operator for one in entry.specifier] == ["=="] for entry in LOCKED)
    blocks = re.split(r"\n(?=\S)", TEXT.rstrip("\n"))[1:]
    assert len(blocks) == len(LOCKED)
    for block in blocks:
        assert re.fullmatch(rf"[\w.-]+==\S+( ; .+)? \\(\n{HASH})+", block), block[:80]
    # Neither of an index nor of a file.
    assert "://" not in TEXT
    assert "file:" not in TEXT


def test_all_that_the_development_environment_needs_is_locked_but_torch() -> None:
    seen: set[tuple[str, str]] = set()
    needed(Requirement(f"{PROJECT['name']}[dev]"), seen)
    names = {name for name, _ in seen} - {PROJECT["name"]}
    assert len(names) > len(PROJECT["optional-dependencies"]["dev"])
    locked = {canonicalize_name(entry.name) for entry in LOCKED}
    assert {name for name in names if name not in locked and not OF_TORCH.fullmatch(name)} == set()
    assert not any(OF_TORCH.fullmatch(name) for name in locked)


@pytest.mark.parametrize(
    "environment", EVERYWHERE, ids=lambda one: f"{one['sys_platform']}-{one['python_version']}"
)
def test_each_python_and_machine_gets_one_version_of_each(environment: dict[str, str]) -> None:
    def applies(marker: Marker | None) -> bool:
        return marker is None or marker.evaluate(environment)

    names = [canonicalize_name(entry.name) for entry in LOCKED if applies(entry.marker)]
    assert len(names) == len(set(names))
    extras = PROJECT["optional-dependencies"].values()
    declared = [Requirement(text) for texts in [PROJECT["dependencies"], *extras] for text in texts]
    direct = {canonicalize_name(one.name) for one in declared} - {PROJECT["name"], "torch"}
    assert direct <= set(names)


def test_the_package_is_built_by_what_is_locked() -> None:
    (build,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert build in PROJECT["optional-dependencies"]["dev"]


def test_make_installs_with_hashes_and_torch_by_its_version_alone() -> None:
    done = steps(".venv/.installed")
    hashed, torch, package, check = re.findall(r"^\.venv/bin/python -m pip .*", done, re.MULTILINE)
    assert "--no-deps --require-hashes --only-binary :all: -r requirements.lock" in hashed
    assert torch.endswith(f"'torch=={PINNED['torch']}'")
    # Whatever the lock lacked would be missing here, and not be fetched.
    assert package.endswith("--no-index --no-build-isolation -e '.[dev]'")
    assert check.endswith("check")


def test_without_hashes_the_versions_are_the_same() -> None:
    done = steps(".venv/.installed", "HASHES=no")
    assert "--require-hashes" not in done
    assert "--no-deps -r .venv/requirements.txt" in done
    (command,) = re.findall(r"^(sed .*) > \.venv/requirements\.txt$", done, re.MULTILINE)
    told = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    left = [line for line in told.splitlines() if not line.startswith("#")]
    assert [str(Requirement(line)) for line in left] == [str(entry) for entry in LOCKED]


def test_the_lock_is_written_for_the_lowest_python_and_keeps_torch_out() -> None:
    done = steps("lock")
    assert f"--universal --python-version {pythons()[0]} --generate-hashes" in done
    assert f"echo 'torch=={PINNED['torch']}'" in done
