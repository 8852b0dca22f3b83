"""`crest bench`: speed on this machine, as ratios within one run."""

import subprocess
import sys
from pathlib import Path

import crest
from crest.lab.cli.console import TRIAL, console
from crest.lab.cli.output import replaced_note, require_output

_PICTURES = (".png", ".pdf", ".svg")


def bench(
    *names: str,
    quick: bool = False,
    shapes: str | None = None,
    threads: str | None = None,
    device: str | None = None,
    json: Path | None = None,
    picture: Path | None = None,
) -> None:
    """Measure speed on this machine, as ratios within one run.

    Parameters
    ----------
    names
        Benchmarks to run, such as readouts. Default: all of them.
    quick
        Only check that every benchmark works, in seconds. The numbers mean nothing.
    shapes
        Shapes of the features for the readouts, such as 64x512x64,2x65536x64.
    threads
        Numbers of threads for the readouts, such as 1,2.
    device
        Where the readouts run: cpu (default), cuda or mps.
    json
        A file for the numbers of the readouts.
    picture
        A file for a chart of the readouts over T.
    """
    # Not at the top: help needs no NumPy.
    from crest._base.arguments import require_choice  # noqa: PLC0415

    # The scripts are beside src in a source tree, and inside the package where it is installed.
    package = Path(crest.__file__).parent
    folders = [package / "lab" / "benchmarks", package.parents[1] / "benchmarks"]
    scripts = {script.stem: script for folder in folders for script in sorted(folder.glob("*.py"))}
    if not scripts:
        raise ValueError(f"no benchmarks found in {' or '.join(map(str, folders))}")
    for name in names:
        require_choice("names", name, scripts)
    given = {"shapes": shapes, "threads": threads, "device": device, "json": json, "picture": picture}
    options = {name: value for name, value in given.items() if value is not None}
    if names and "readouts" not in names and options:
        raise ValueError(f"{next(iter(options))} is for the benchmark readouts, got {', '.join(names)} alone")
    for name, path, endings in (("json", json, (".json",)), ("picture", picture, _PICTURES)):
        if path is not None:
            require_output(name, path, endings)
            path.parent.mkdir(parents=True, exist_ok=True)
            console.print(f"--{name}: {path}{replaced_note(path)}", markup=False)
    own = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    for name in names or scripts:
        console.print(f"[bold]{name}[/bold]")
        command = [sys.executable, str(scripts[name]), *(["--quick"] if quick else [])]
        done = subprocess.run([*command, *(own if name == "readouts" else [])], check=False)
        if done.returncode:
            raise SystemExit(
                f"crest: the benchmark {name} ended with status {done.returncode}; the reason is above"
            )
    if quick:
        console.print(TRIAL)
