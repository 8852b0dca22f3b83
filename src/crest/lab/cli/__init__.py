"""The command line: `crest --help`. Each command imports what it needs, so that help answers at once."""

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from cyclopts import App, CycloptsError, Parameter
from cyclopts.completion.detect import ShellDetectionError

import crest
from crest._base.extras import missing_extra
from crest.lab.cli import audit, bench, cues, data, demo, pack, recordings, report, runs, systems, verify
from crest.lab.cli.ahead import compile_ahead
from crest.lab.cli.console import INTERRUPTED, errors, words_aside
from crest.lab.cli.doctor import doctor
from crest.lab.cli.wording import in_words_of, in_words_of_parser

app = App(
    name="crest",
    version=crest.__version__,
    help="See which time steps a pooled model reads, and re-anchor it. With --debug, errors show their traceback.",
    # Ctrl-C is told by `main`, as every other end.
    suppress_keyboard_interrupt=False,
    # No --empty-columns and no --no-json: an option that is left out is off. Where neither is the default, the option says so itself.
    default_parameter=Parameter(negative_iterable=(), negative_bool=()),
)
app.command(demo.demo)
app.command(audit.audit_model, name="audit")
app.command(cues.cues_in_recordings, name="cues")
app.command(recordings.recordings_app)
app.command(systems.systems_app)
app.command(data.data_app)
app.command(runs.run_experiments, name="run")
app.command(runs.status)
app.command(report.report)
app.command(verify.verify_records, name="verify")
app.command(pack.pack)
app.command(doctor)
app.command(compile_ahead, name="warm-up")
app.command(bench.bench)
app.register_install_completion_command(help="Let the Tab key complete commands and options in your shell.")

# What shells expect of a command that was called wrongly.
_MISUSED = 2
# As of a program that the signal of a closed pipe ends: 128 and its number.
_PIPE_CLOSED = 141


def main() -> None:
    """Run the command line; an expected error prints one sentence, and its traceback with --debug."""
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except KeyboardInterrupt:
        errors.print("crest: interrupted")
        raise SystemExit(INTERRUPTED) from None
    except CycloptsError as error:
        chain = " ".join(["crest", *(error.command_chain or ())])
        _end(f"{in_words_of_parser(error)} See: {chain} --help", _MISUSED, error)
    except BrokenPipeError:
        # Who reads has read enough, as in `crest status --json | head`. Python would complain again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_PIPE_CLOSED) from None
    except (ValueError, OSError, ImportError, RuntimeError, ShellDetectionError) as error:
        if isinstance(error, ModuleNotFoundError):
            _end(missing_extra("this", error.name, "lab"), 1, error)
        _end(in_words_of(_command(arguments), error), 1, error)
    finally:
        words_aside(False)


def _command(arguments: list[str]) -> Callable[..., Any] | None:
    """The function of the command that was typed."""
    return app.parse_commands(arguments)[1][-1].default_command


def _end(sentence: str, status: int, error: Exception) -> NoReturn:
    if "--debug" in sys.argv:
        raise error
    errors.print(f"crest: {sentence}", markup=False)
    raise SystemExit(status) from error
