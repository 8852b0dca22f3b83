"""The command line: `crest --help`. Each command imports what it needs, so that help answers at once."""

# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from rich.console import Console

import crest

if TYPE_CHECKING:
    from crest.systems import Splits

app = App(
    name="crest",
    version=crest.__version__,
    help="See which time steps a pooled model reads, and re-anchor it. With --debug, errors show their traceback.",
)
systems = App(name="systems", help="The systems: what they look like and whether they can be read.")
data = App(name="data", help="Public recordings.")
app.command(systems)
app.command(data)
console = Console(soft_wrap=True)
errors = Console(stderr=True, soft_wrap=True)

# A development seed: reported results use 0 to 9.
SEED = 1000
MOST_ROWS = 20


@app.command(name="demo")
def run_demo(*, output: Path = Path("outputs"), trajectories: int = 2048) -> None:
    """Show the failure and its repair on the two-channel model: a table and a picture."""
    from crest import demo

    demo.main(["--output", str(output), "--trajectories", str(trajectories)])


@systems.command(name="list")
def list_systems() -> None:
    """Print the simulators with their named regimes."""
    from crest.systems.regimes import REGIMES

    for system, names in REGIMES.items():
        console.print(f"[bold]{system}[/bold]")
        for name, changes in names.items():
            console.print(f"  {name:<18}" + ", ".join(f"{key} = {value}" for key, value in changes.items()))


@systems.command
def show(
    system: str,
    *,
    regime_name: Annotated[str, Parameter(name="--regime")] = "default",
    seed: int = SEED,
    rows: int = 4,
    output: Path | None = None,
    folder: Path | None = None,
) -> None:
    """Draw channels, events and cue of a few trajectories of rising label, and print how well it can be read.

    Parameters
    ----------
    system
        gear, impact or cwru.
    regime_name
        A named regime; `crest systems list` has them.
    seed
        Seed of the data; 0 to 9 are kept for reported results.
    rows
        Trajectories to draw.
    output
        Picture to write; outputs/SYSTEM-REGIME.png unless given.
    folder
        Of the recordings, for cwru; the environment variable CREST_DATA, or a cache folder, unless given.
    """
    from crest.report.systems import system_figure

    if not 1 <= rows <= MOST_ROWS:
        raise ValueError(f"rows must lie in [1, {MOST_ROWS}], got {rows}")
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
    from crest.systems.rms_baselines import rms_baselines

    splits = CwruSystem(folder=folder).splits(seed)
    console.print(splits.train, markup=False)
    console.print(splits.ood, markup=False)
    for score in rms_baselines(splits):
        console.print(f"log-RMS alone, {score.reader} reader: error {score.id:.3f} ID, {score.ood:.3f} OOD")
    return splits


@data.command
def fetch(name: Literal["cwru"], *, from_dir: Path | None = None, folder: Path | None = None) -> None:
    """Fetch recordings, each checked by its SHA-256; what is there and right is not fetched again.

    Parameters
    ----------
    name
        cwru: the sixteen inner-race recordings of the Case Western Reserve bearing data.
    from_dir
        A folder that has the files already: they are checked and copied.
    folder
        Where they go; the environment variable CREST_DATA, or a cache folder, unless given.
    """
    from crest.systems import cwru_files

    console.print(f"{name}: {cwru_files.fetch(folder, from_dir=from_dir)}", markup=False)


@data.command
def check(name: Literal["cwru"], *, folder: Path | None = None) -> None:
    """Say of each recording whether it is there and right.

    Parameters
    ----------
    name
        cwru.
    folder
        Where to look; the environment variable CREST_DATA, or a cache folder, unless given.
    """
    from crest.systems import cwru_files

    states = cwru_files.check(folder)
    for state in states:
        console.print(f"{state.file.name:<10}{state.detail or state.state}", markup=False, highlight=False)
    if any(state.state != "present" for state in states):
        raise SystemExit(f"fetch what is missing with: crest data fetch {name}")


def main() -> None:
    """Run the command line; errors of input are one sentence, the traceback comes with --debug."""
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    try:
        app(arguments)
    except (ValueError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        errors.print(f"crest: {error}", markup=False, highlight=False)
        raise SystemExit(1) from error
