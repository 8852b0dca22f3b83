"""The command line: `crest --help`. Each command imports what it needs, so that help answers at once."""

# ruff: noqa: PLC0415

import sys
from pathlib import Path

from cyclopts import App

import crest
from crest.lab.cli import audit, data, demo, pack, recordings, report, runs, systems, verify
from crest.lab.cli.console import INTERRUPTED, console, errors
from crest.lab.cli.doctor import doctor

app = App(
    name="crest",
    version=crest.__version__,
    help="See which time steps a pooled model reads, and re-anchor it. With --debug, errors show their traceback.",
)
app.command(demo.demo)
app.command(audit.audit_model, name="audit")
app.command(recordings.recordings_app)
app.command(systems.systems_app)
app.command(data.data_app)
app.command(runs.run_experiments, name="run")
app.command(runs.status)
app.command(report.report)
app.command(verify.verify_records, name="verify")
app.command(pack.pack)
app.command(doctor)


@app.command
def bench(
    *names: str,
    quick: bool = False,
    shapes: str | None = None,
    threads: str | None = None,
    json: Path | None = None,
    picture: Path | None = None,
) -> None:
    """Measure speed on this machine, as ratios within one run.

    Parameters
    ----------
    names
        Benchmarks to run, such as readouts. Default: all of them.
    quick
        Only see whether every benchmark works, in seconds; its numbers mean nothing.
    shapes
        Of the features for the readouts, such as 64x512x64,2x65536x64.
    threads
        Numbers of threads for the readouts, such as 1,2.
    json
        A file for the numbers of the readouts.
    picture
        A file for a chart of the readouts over T.
    """
    import subprocess

    # The scripts are beside src in a source tree, and inside the package where it is installed.
    package = Path(crest.__file__).parent
    folders = [package / "lab" / "benchmarks", package.parents[1] / "benchmarks"]
    scripts = [script for folder in folders for script in sorted(folder.glob("*.py"))]
    if not scripts:
        raise ValueError(f"no benchmarks found in {' or '.join(map(str, folders))}")
    known = [script.stem for script in scripts]
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"names must be of {', '.join(known)}, got {unknown[0]!r}")
    given = {"--shapes": shapes, "--threads": threads, "--json": json, "--picture": picture}
    options = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    for script in scripts:
        if names and script.stem not in names:
            continue
        console.print(f"[bold]{script.stem}[/bold]")
        own = options if script.stem == "readouts" else []
        command = [sys.executable, str(script), *(["--quick"] if quick else []), *own]
        subprocess.run(command, check=True)


def main() -> None:
    """Run the command line; an expected error prints one sentence, and its traceback with --debug."""
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    try:
        app(arguments)
    except KeyboardInterrupt:
        errors.print("crest: interrupted")
        raise SystemExit(INTERRUPTED) from None
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        if "--debug" in sys.argv:
            raise
        if isinstance(error, ModuleNotFoundError):
            error = ImportError(f"this needs {error.name}: pip install 'crest-readout[lab]'")
        errors.print(f"crest: {error}", markup=False)
        raise SystemExit(1) from error
