"""`crest systems`: list and draw the systems, and say how well simple readers read them."""

# ruff: noqa: PLC0415

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from crest.lab.cli.console import console

if TYPE_CHECKING:
    from crest.systems import Splits

systems_app = App(
    name="systems", help="Look at the systems: what they are, and how well simple readers read them."
)

# A development seed: reported results use 0 to 9.
SEED = 1000
MOST_ROWS = 20


@systems_app.command(name="list")
def list_systems() -> None:
    """Print the simulators with their named regimes."""
    from crest.systems.regimes import REGIMES

    for system, names in REGIMES.items():
        console.print(f"[bold]{system}[/bold]")
        for name, changes in names.items():
            console.print(f"  {name:<18}" + ", ".join(f"{key} = {value}" for key, value in changes.items()))


@systems_app.command(name="show")
def show_system(
    system: str,
    *,
    regime_name: Annotated[str, Parameter(name="--regime")] = "default",
    seed: int = SEED,
    rows: int = 4,
    output: Path | None = None,
    folder: Path | None = None,
) -> None:
    """Draw a few trajectories with their events and cue, and print how well simple readers read the system.

    Parameters
    ----------
    system
        gear, impact or cwru.
    regime_name
        A named regime. `crest systems list` prints them.
    seed
        Seed of the data; 0 to 9 are kept for reported results.
    rows
        How many trajectories to draw. Their labels rise from top to bottom.
    output
        The picture to write. Default: outputs/SYSTEM-REGIME.png.
    folder
        Where the recordings of cwru are. Default: the folder in the environment variable CREST_DATA, else a cache
        folder.
    """
    from crest.checks.arguments import require
    from crest.lab.report.systems import system_figure

    require("rows", rows, f"be a whole number in [1, {MOST_ROWS}]")
    splits = _bearings(seed, folder) if system == "cwru" else _simulated(system, regime_name, seed)
    path = output or Path("outputs") / f"{system}-{regime_name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    system_figure(splits.train, rows).savefig(path, dpi=110)
    console.print(f"Picture: {path}", markup=False)


def _simulated(system: str, regime_name: str, seed: int) -> "Splits":
    from crest.systems import Sizes, global_features, read_by_ridge, regime
    from crest.systems.decodability import EVENT_FEATURES

    splits = regime(system, regime_name).splits(seed, Sizes(train=512))
    console.print(splits.train, markup=False)
    console.print(splits.ood, markup=False)
    console.print("errors of readers by ridge regression; 1 is a guess")
    for name, features in (("events", EVENT_FEATURES[system]), ("global statistics", global_features)):
        found = read_by_ridge(splits, features)
        console.print(f"hand-designed reader of {name}: error {found.id:.3f} ID, {found.ood:.3f} OOD")
    return splits


def _bearings(seed: int, folder: Path | None) -> "Splits":
    from crest.systems import CwruSystem
    from crest.systems.cwru.rms_baselines import rms_baselines

    splits = CwruSystem(folder=folder).splits(seed)
    console.print(splits.train, markup=False)
    console.print(splits.ood, markup=False)
    for score in rms_baselines(splits):
        console.print(f"log-RMS alone, {score.reader} reader: error {score.id:.3f} ID, {score.ood:.3f} OOD")
    return splits
