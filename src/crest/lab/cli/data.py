"""`crest data`: public recordings."""

# ruff: noqa: PLC0415

from pathlib import Path
from typing import Literal

from cyclopts import App

from crest.lab.cli.console import console, print_json, words_aside

data_app = App(name="data", help="Fetch and check public recordings.")


@data_app.command(name="fetch")
def fetch_data(name: Literal["cwru"], /, *, from_dir: Path | None = None, folder: Path | None = None) -> None:
    """Fetch recordings and check each by its SHA-256. Files that are there and intact are not fetched again.

    Parameters
    ----------
    name
        cwru: the sixteen inner-race recordings of the Case Western Reserve bearing data.
    from_dir
        A folder that has the files already; they are checked and copied from there.
    folder
        Where to put them. Default: the folder in the environment variable CREST_DATA, else a cache folder.
    """
    from crest.lab.systems.cwru import files as cwru_files

    console.print(f"{name}: {cwru_files.fetch_recordings(folder, from_dir=from_dir)}", markup=False)


@data_app.command(name="check")
def check_data(name: Literal["cwru"], /, *, folder: Path | None = None, json: bool = False) -> None:
    """Say for each recording whether it is there and intact.

    Parameters
    ----------
    name
        cwru.
    folder
        Where to look. Default: the folder in the environment variable CREST_DATA, else a cache folder.
    json
        Print the state of each file as JSON.
    """
    from crest.lab.systems.cwru import files as cwru_files

    words_aside(json)
    states = cwru_files.check_recordings(folder)
    if json:
        where = folder or cwru_files.data_folder()
        print_json({"folder": where, "files": {state.file.name: state.state for state in states}})
    for state in states:
        console.print(f"{state.file.name:<10}{state.detail or state.state}", markup=False, highlight=False)
    if any(state.state != "present" for state in states):
        raise SystemExit(f"crest: fetch what is missing with: crest data fetch {name}")
