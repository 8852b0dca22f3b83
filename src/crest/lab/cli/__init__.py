"""The command line: `crest --help`. Each command imports what it needs, so that help answers at once."""

# ruff: noqa: PLC0415

import sys
from pathlib import Path

from cyclopts import App

import crest
from crest.lab.cli import audit, data, demo, pack, report, runs, systems, verify
from crest.lab.cli.console import INTERRUPTED, console, errors
from crest.lab.cli.doctor import doctor

app = App(
    name="crest",
    version=crest.__version__,
    help="See which time steps a pooled model reads, and re-anchor it. With --debug, errors show their traceback.",
)
app.command(demo.demo)
app.command(audit.audit_model, name="audit")
app.command(systems.systems_app)
app.command(data.data_app)
app.command(runs.run_experiments, name="run")
app.command(runs.status)
app.command(report.report)
app.command(verify.verify_records, name="verify")
app.command(pack.pack)
app.command(doctor)


@app.command
def bench(*, quick: bool = False) -> None:
    """Measure speed on this machine, as ratios within one run.

    Parameters
    ----------
    quick
        Only see whether every benchmark works, in seconds; its numbers mean nothing.
    """
    import subprocess

    # The scripts are beside src in a source tree, and inside the package where it is installed.
    package = Path(crest.__file__).parent
    folders = [package / "lab" / "benchmarks", package.parents[1] / "benchmarks"]
    scripts = [script for folder in folders for script in sorted(folder.glob("*.py"))]
    if not scripts:
        raise ValueError(f"no benchmarks found in {' or '.join(map(str, folders))}")
    for script in scripts:
        console.print(f"[bold]{script.stem}[/bold]")
        subprocess.run([sys.executable, str(script), *(["--quick"] if quick else [])], check=True)


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
