"""`crest data`: public recordings."""

# ruff: noqa: PLC0415

from pathlib import Path
from typing import Literal

from cyclopts import App
from rich.markup import escape
from rich.table import Column, Table

from crest.lab.cli.console import console, print_json, words_aside

data_app = App(name="data", help="List, fetch and check public recordings.")

# The keys of `crest.lab.systems.public.DATA_SETS`, which a type cannot be read from.
DataName = Literal["cwru", "hitsm", "mitbih", "sisfall"]


@data_app.command(name="list")
def list_data(*, json: bool = False) -> None:
    """Print the public data sets: what they hold, licence, what to cite, address, and how many files are here and intact.

    Parameters
    ----------
    json
        Print them as JSON.
    """
    from crest.lab.systems.public import DATA_SETS
    from crest.lab.systems.public_files import check_files, folder_of

    states = {name: check_files(data) for name, data in DATA_SETS.items()}
    present = {name: sum(one.state == "present" for one in found) for name, found in states.items()}
    if json:
        print_json(
            {
                name: {
                    "title": data.title,
                    "what": data.what,
                    "licence": data.licence,
                    "cite": data.cite,
                    "addresses": data.addresses,
                    "present": present[name],
                    "files": len(data.files),
                    "folder": folder_of(data),
                }
                for name, data in DATA_SETS.items()
            }
        )
        return
    # A path that is cut off is of no use.
    table = Table(
        "name", "what", "licence", "files", Column("folder", overflow="fold"), box=None, pad_edge=False
    )
    for name, data in DATA_SETS.items():
        count = f"{present[name]} of {len(data.files)}"
        table.add_row(name, data.what, data.licence, count, escape(str(folder_of(data))))
    console.print(table, soft_wrap=False)
    for name, data in DATA_SETS.items():
        address = data.addresses[0] if data.addresses else "none; crest data check says what to do"
        console.print(f"{name}: cite {data.cite}. Address: {address}", markup=False)


@data_app.command(name="fetch")
def fetch_data(name: DataName, /, *, from_dir: Path | None = None, folder: Path | None = None) -> None:
    """Fetch recordings and check each by its SHA-256. Files that are there and intact are not fetched again.

    The licence and what to cite are printed first. A broken download continues if the server allows it.

    Parameters
    ----------
    name
        A data set. `crest data list` says what each is.
    from_dir
        A folder that has the files already; they are checked and copied from there.
    folder
        Where to put them. Default: the folder in the environment variable CREST_DATA, else a cache folder.
    """
    from crest.lab.systems.public import DATA_SETS
    from crest.lab.systems.public_files import fetch_files

    data = DATA_SETS[name]
    for line in (data.title, f"Licence: {data.licence}", f"Cite: {data.cite}"):
        console.print(line, markup=False)
    console.print(f"{name}: {fetch_files(data, folder, from_dir=from_dir)}", markup=False)


@data_app.command(name="check")
def check_data(name: DataName, /, *, folder: Path | None = None, json: bool = False) -> None:
    """Say for each recording whether it is there and intact.

    Parameters
    ----------
    name
        A data set. `crest data list` says what each is.
    folder
        Where to look. Default: the folder in the environment variable CREST_DATA, else a cache folder.
    json
        Print the state of each file as JSON.
    """
    from crest.lab.systems.public import DATA_SETS
    from crest.lab.systems.public_files import check_files, folder_of

    words_aside(json)
    data = DATA_SETS[name]
    states = check_files(data, folder)
    if json:
        where = folder or folder_of(data)
        print_json({"folder": where, "files": {state.file.name: state.state for state in states}})
    width = 2 + max(len(state.file.name) for state in states)
    for state in states:
        console.print(
            f"{state.file.name:<{width}}{state.detail or state.state}", markup=False, highlight=False
        )
    if any(state.state != "present" for state in states):
        remedy = f"fetch what is missing with: crest data fetch {name}" if data.addresses else data.by_hand
        raise SystemExit(f"crest: {remedy}")
