"""Progress of a sweep: a bar on a terminal, plain lines elsewhere."""

import abc

from rich.console import Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from crest.lab.cli.console import console
from crest.lab.runs.durations import TimeLeft, seconds_of
from crest.lab.runs.record import Record
from crest.lab.runs.sweep import Listener


def line(record: Record) -> str:
    """A finished run in one line, with its ID error and, if something is held out, its OOD error."""
    seconds = seconds_of(record.seconds)
    outside = f"  OOD {record.score.ood:.3f}" if record.spec.has_ood else ""
    return f"{record.id}  ID {record.score.id:.3f}{outside}  {seconds:.0f} s"


def reason(text: str) -> str:
    r"""What went wrong, taken from a traceback: the first line of the error, and the last if there are several.

    Example:
        >>> reason("Traceback:\n  File x\nValueError: no file a\nno file b\nWhat to do: fetch them")
        'ValueError: no file a ... What to do: fetch them'
    """
    lines = [line for line in text.strip().splitlines() if not line.startswith("Traceback")]
    lines = lines or ["no reason was noted"]
    # A traceback indents its stack. The error follows it.
    stack = max((place for place, line in enumerate(lines) if line.startswith("  ")), default=-1)
    error = lines[stack + 1 :] or lines[-1:]
    return error[0] if len(error) == 1 else f"{error[0]} ... {error[-1]}"


class _Sentences(Listener, abc.ABC):
    """What is said of a run, in one sentence; where it is shown is the children's to know.

    Args:
        total: how many runs there are.
        left: hears what happens, and knows how long the rest will take.
    """

    def __init__(self, total: int, left: TimeLeft) -> None:
        self.total = total
        self.left = left

    @abc.abstractmethod
    def say(self, run_id: str, text: str, *, settles: bool = False, style: str = "") -> None:
        """Show a sentence about a run, which is not in progress any more; `settles`: nor will it be again."""

    def waiting(self, run_id: str) -> None:
        """Say that another process does this run."""
        self.say(run_id, f"{run_id}  another process is working on it")

    def died(self, run_id: str) -> None:
        """Say that this run is tried again."""
        self.say(run_id, f"{run_id}  its process died, trying again")

    def started(self, run_id: str) -> None:
        """Measure its time from now on."""
        self.left.started(run_id)

    def done(self, record: Record) -> None:
        """Show the finished run."""
        self.left.record(record)
        self.say(record.id, line(record), settles=True)

    def failed(self, run_id: str, text: str) -> None:
        """Say that this run failed, and why."""
        self.left.settled(run_id)
        self.say(run_id, f"{run_id}  failed: {reason(text)}", settles=True, style="red")


class Lines(_Sentences):
    """Prints a plain line for each thing that happens, with the number of settled runs and the time left."""

    def __init__(self, total: int, left: TimeLeft) -> None:
        super().__init__(total, left)
        self.settled = 0
        self.begun = False

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: lines leave nothing to clean up."""

    def say(self, run_id: str, text: str, *, settles: bool = False, style: str = "") -> None:  # noqa: ARG002
        """Print a line, without colour."""
        self.settled += settles
        after = f"  {self.left.words()}" if settles and self.settled < self.total else ""
        console.print(f"[{self.settled}/{self.total}] {text}{after}", markup=False)

    def started(self, run_id: str) -> None:
        """Say once, before the first run is done, how long all will take."""
        if not self.begun:
            runs = self.total - self.settled
            console.print(f"{runs} run{'s' * (runs != 1)} to do, {self.left.words()}", markup=False)
        self.begun = True
        super().started(run_id)

    def found(self, run_id: str) -> None:
        """Count it without a line, because a resumed sweep may find hundreds."""
        self.left.settled(run_id)
        self.settled += 1


class _LeftColumn(ProgressColumn):
    """The time left, asked for anew at every drawing: it goes down while runs are in progress."""

    def __init__(self, left: TimeLeft) -> None:
        super().__init__()
        self.left = left

    def render(self, task: Task) -> Text:
        return Text("" if task.finished else self.left.words(), style="progress.remaining")


class Bar(_Sentences):
    """Shows a bar with the runs done, the total and the time left, and below it the runs in progress."""

    def __init__(self, total: int, left: TimeLeft) -> None:
        super().__init__(total, left)
        self.bar = Progress(
            TextColumn("runs"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _LeftColumn(self.left),
            console=console,
        )
        self.task = self.bar.add_task("runs", total=total)
        self.running: list[str] = []
        self.live = Live(Group(self.bar), console=console, refresh_per_second=4)

    def __enter__(self) -> "Bar":
        self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.running.clear()
        self._show()
        self.live.stop()

    def _show(self) -> None:
        names = [Text(f"  {name}", style="dim") for name in self.running]
        self.live.update(Group(self.bar, *names))

    def say(self, run_id: str, text: str, *, settles: bool = False, style: str = "") -> None:
        """Print the sentence above the bar."""
        console.print(text, markup=False, style=style)
        self.running = [name for name in self.running if name != run_id]
        if settles:
            self.bar.advance(self.task)
        self._show()

    def found(self, run_id: str) -> None:
        """Take it out of the total: the bar is about runs that are trained."""
        self.left.settled(run_id)
        task = self.bar.tasks[0]
        self.bar.update(self.task, total=(task.total or 0) - 1)

    def started(self, run_id: str) -> None:
        """Show it below the bar."""
        super().started(run_id)
        self.running.append(run_id)
        self._show()


def progress(total: int, left: TimeLeft) -> Lines | Bar:
    """A bar if the output is a terminal, else lines; `left` knows how long the rest will take."""
    return Bar(total, left) if console.is_terminal else Lines(total, left)
