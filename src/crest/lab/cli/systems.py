"""`crest systems`: list and draw the systems, and say how well simple readers read them."""

# ruff: noqa: PLC0415

from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App

from crest.lab.cli.console import console, print_json, words_aside
from crest.lab.cli.output import replaced_note, require_output

if TYPE_CHECKING:
    from crest.recordings import Splits

systems_app = App(
    name="systems", help="Look at the systems: what they are, and how well simple readers read them."
)

# A development seed: reported results use 0 to 9.
SEED = 1000
MOST_ROWS = 20
_PICTURES = (".png", ".pdf", ".svg")


@systems_app.command(name="list")
def list_systems(*, json: bool = False) -> None:
    """Print the systems with their named regimes.

    Parameters
    ----------
    json
        Print them as JSON.
    """
    from crest.lab.systems.regimes import SETTINGS

    if json:
        print_json(SETTINGS)
        return
    for system, names in SETTINGS.items():
        console.print(f"[bold]{system}[/bold]")
        for name, changes in names.items():
            console.print(f"  {name:<18}" + ", ".join(f"{key} = {value}" for key, value in changes.items()))


@systems_app.command(name="show")
def show_system(
    system: str | None = None,
    /,
    *,
    regime: str = "default",
    seed: int = SEED,
    rows: int = 4,
    output: Path | None = None,
    folder: Path | None = None,
    json: bool = False,
) -> None:
    """Draw a few trajectories with their events and cue, and print how well simple readers read the system.

    Parameters
    ----------
    system
        gear, impact or cwru. Without it, all of them are listed.
    regime
        A named regime. `crest systems list` prints them.
    seed
        Seed of the data; 0 to 9 are kept for reported results.
    rows
        How many trajectories to draw. Their labels rise from top to bottom.
    output
        The picture to write, as .png, .pdf or .svg. Default: outputs/SYSTEM-REGIME.png.
    folder
        Where the recordings of cwru are. Default: the folder in the environment variable CREST_DATA, else a cache
        folder.
    json
        Print the numbers as JSON.
    """
    from crest._base.arguments import require
    from crest._base.files import whole_file
    from crest.lab.report.systems import system_figure

    if system is None:
        list_systems(json=json)
        return
    words_aside(json)
    require("rows", rows, f"be a whole number in [1, {MOST_ROWS}]")
    path = output or Path("outputs") / f"{system}-{regime}.png"
    splits = _splits(system, regime, seed, folder, path)
    for split in (splits.train, splits.ood):
        console.print(split, markup=False)
    readers = _bearing_readers(splits) if system == "cwru" else _simulator_readers(system, splits)
    path.parent.mkdir(parents=True, exist_ok=True)
    replaced = replaced_note(path)
    with whole_file(path) as file:
        system_figure(splits.train, rows).savefig(file, dpi=110, format=path.suffix[1:])
    if json:
        errors = [{"reader": name, "id": of_id, "ood": of_ood} for name, of_id, of_ood in readers]
        print_json({"system": system, "regime": regime, "seed": seed, "errors": errors, "picture": path})
        return
    console.print("errors of simple readers; 1 is a guess")
    for name, of_id, of_ood in readers:
        console.print(f"{name}: error {of_id:.3f} ID, {of_ood:.3f} OOD", markup=False)
    console.print(f"Picture: {path}{replaced}", markup=False)


def _splits(system: str, regime: str, seed: int, folder: Path | None, path: Path) -> "Splits":
    """The data, after everything that was typed has been looked at."""
    from crest._base.arguments import require_choice
    from crest.lab.systems import SYSTEMS, Sizes, make_system

    require_choice("system", system, SYSTEMS)
    if system != "cwru" and folder is not None:
        raise ValueError(f"folder is for the recordings of cwru: {system} is simulated, got {str(folder)!r}")
    made = make_system(system, regime, **({"folder": folder} if system == "cwru" else {}))
    require_output("output", path, _PICTURES)
    return made.splits(seed) if system == "cwru" else made.splits(seed, Sizes(train=512))


def _simulator_readers(system: str, splits: "Splits") -> list[tuple[str, float, float]]:
    """What read, by ridge regression, with its ID and OOD error."""
    from crest.lab.systems import global_features, read_by_ridge
    from crest.lab.systems.decodability import EVENT_FEATURES

    readers = (("events", EVENT_FEATURES[system]), ("global statistics", global_features))
    found = [(name, read_by_ridge(splits, features)) for name, features in readers]
    return [(f"hand-designed reader of {name}", error.id, error.ood) for name, error in found]


def _bearing_readers(splits: "Splits") -> list[tuple[str, float, float]]:
    from crest.lab.systems.cwru.rms_baselines import rms_baselines

    return [(f"log-RMS alone, {one.reader} reader", one.id, one.ood) for one in rms_baselines(splits)]
