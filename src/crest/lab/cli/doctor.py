"""`crest doctor`: what this machine has that runs need."""

# ruff: noqa: PLC0415

import os
import platform
import shutil
from importlib import metadata
from pathlib import Path
from typing import Annotated

import crest
from crest.lab.cli.console import console, print_json
from crest.lab.cli.runs import RESULTS
from crest.lab.cli.wording import Behind, in_words_of

PACKAGES = ("torch", "numpy", "numba", "scipy", "scikit-learn", "safetensors", "matplotlib", "distributed")


def doctor(
    *, cluster: Annotated[str | None, Behind("address")] = None, folder: Path = RESULTS, json: bool = False
) -> None:
    """Print versions, cores, the data found, the free space for records, and whether a cluster can be reached.

    Parameters
    ----------
    cluster
        Address of a Dask scheduler to try.
    folder
        Where the records go.
    json
        Print the same as JSON, the packages one by one.
    """
    from crest.lab.runs.executors import cores
    from crest.lab.runs.provenance import commit

    packages = {name: _version(name) for name in PACKAGES}
    lines = {
        "crest": f"{crest.__version__}, commit {commit() or 'unknown'}",
        "python": f"{platform.python_version()} on {platform.platform(terse=True)}, {platform.machine()}",
        "packages": ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items()),
        "cores": f"{cores()} for this process, {os.cpu_count()} in the machine",
        "bearings": _bearings(),
        "records": _records(folder),
        "cluster": _cluster(cluster),
    }
    if json:
        print_json({**lines, "packages": packages})
    else:
        for name, text in lines.items():
            console.print(f"{name:<10}{text}", markup=False)
    if cluster is not None and not lines["cluster"].startswith("reached"):
        raise SystemExit(1)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _bearings() -> str:
    from crest.lab.systems.cwru import files as cwru_files

    states = cwru_files.check_recordings(None)
    present = sum(state.state == "present" for state in states)
    remedy = "" if present == len(states) else "; fetch them with: crest data fetch cwru"
    return f"{present} of {len(states)} recordings in {cwru_files.data_folder()}{remedy}"


def _records(folder: Path) -> str:
    from crest.lab.runs.store import Store

    place = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
    free = f"{shutil.disk_usage(place).free / 2**30:.1f} GiB free"
    if not place.is_dir():
        return f"{place} is a file, not a folder for records"
    if not os.access(place, os.W_OK):
        return f"{place} is not writable, {free}"
    if place != folder.absolute():
        return f"none yet: {folder} will be made; --folder names another folder; {free}"
    store = Store(folder)
    try:
        return f"{len(store.ids())} in {folder}, {len(store.failures())} failed, {free}"
    except ValueError as error:  # the packed file is damaged: that is what a doctor is asked for
        return f"{error}; {free}"


def _cluster(address: str | None) -> str:
    if address is None:
        return "not tried; pass --cluster ADDRESS"
    from crest.lab.runs.executors import ClusterExecutor

    try:
        with ClusterExecutor(address) as executor:
            return f"reached {address}: {executor.threads or 'no'} worker threads"
    except (ImportError, OSError, ValueError) as error:
        return in_words_of(doctor, error)
