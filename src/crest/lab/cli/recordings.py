"""`crest recordings`: one's own recordings on disk, before anything is trained on them."""

# ruff: noqa: PLC0415

import dataclasses
import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from cyclopts import App, Parameter

from crest.lab.cli.console import console
from crest.lab.cli.wording import Behind, in_options_of

if TYPE_CHECKING:
    from crest.recordings.gathering import Gathered
    from crest.recordings.options import RecordingOptions

recordings_app = App(name="recordings", help="Look at your own recordings: a table and a folder of signals.")


@Parameter(name="*")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordingFlags:
    """The options of every command that reads recordings. What they become is `RecordingOptions`, which needs NumPy.

    Parameters
    ----------
    signals
        Folder with the signals. Default: the table's own.
    sample_rate
        Samples per second of files that do not say it.
    resample
        Samples per second that all recordings are brought to.
    file
        Column of the table with the path of the signal.
    label
        Column of the table with the target: numbers, or names of classes.
    condition
        Column with the operating condition.
    events
        Column with the event steps, if they are known.
    key
        Which array of .npz and .mat files, if they hold several.
    columns
        Columns of the signals that are channels, by name or by number from 0. Default: all but the time.
    time
        Column of the signals with the time, by name or by number. Default: found out.
    no_time
        The signals have no time column.
    """

    signals: Annotated[Path | None, Behind("folder")] = None
    sample_rate: float | None = None
    resample: float | None = None
    file: str = "file"
    label: Annotated[str, Behind("targets"), Behind("y")] = "label"
    condition: Annotated[str | None, Behind("conditions")] = None
    events: str | None = None
    key: str | None = None
    columns: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None
    time: str | None = None
    no_time: bool = False

    def options(self, *, window: int | None, **others: Any) -> "RecordingOptions":
        """What to read and how; without a window each sample is one, which serves to count and to pad."""
        from crest.recordings.options import RecordingOptions

        if self.no_time and self.time is not None:
            raise ValueError(f"time must be left out with --no-time, got {self.time!r}")
        given = {name: value for name, value in vars(self).items() if name not in ("signals", "no_time")}
        given["time"] = (not self.no_time) if self.time is None else self.time
        return RecordingOptions(window=1 if window is None else window, **given, **others)


DEFAULT_FLAGS = RecordingFlags()


@recordings_app.command(name="check")
def check_table(
    table: Path,
    /,
    *,
    window: int | None = None,
    hop: int | None = None,
    recordings: RecordingFlags = DEFAULT_FLAGS,
    classes: Annotated[bool | None, Parameter(negative="--no-classes")] = None,
    proxy: str | None = None,
    ood: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    id_by: Literal["block", "recording"] = "block",
    id_fraction: float = 0.2,
    gap: float = 1.0,
    json: bool = False,
) -> None:
    """Say what a table of recordings holds, and what is wrong with it, row by row. Exit status 1 if something is.

    Parameters
    ----------
    table
        A .csv or .parquet file with a row for each recording.
    window
        Samples per window. Default: windows are not counted.
    hop
        Samples from one window to the next. Default: the window.
    classes
        The labels are names, or with --no-classes numbers. Default: they are names if none is a number.
    proxy
        Column with the smooth cue.
    ood
        Conditions that would be held out; the split is then tried.
    id_by
        Hold out blocks of each recording, or whole recordings.
    id_fraction
        Share that would be held out of the other conditions.
    gap
        Signal between training and held-out windows, in window lengths.
    json
        Print JSON.
    """
    from crest.recordings.gathering import gathered_recordings
    from crest.recordings.inventory import inventory
    from crest.recordings.options import Division

    if ood is not None and (recordings.condition is None or window is None):
        raise ValueError("ood must come with --condition and --window, which say what is divided")
    options = recordings.options(window=window, hop=hop, proxy=proxy, classes=classes)
    division = Division(id_by=id_by, id_fraction=id_fraction, gap=gap)
    gathered = gathered_recordings(table, recordings.signals, options)
    found = inventory(gathered, ood, division, cut=window is not None)
    tie = None if recordings.condition is None else label_tie(gathered, cut=window is not None)
    found = dataclasses.replace(
        found,
        problems=[
            (line, in_options_of(check_table, reason, begins=line is None)) for line, reason in found.problems
        ],
        advice=[in_options_of(check_table, one) for one in found.advice],
        remarks=[in_options_of(check_table, one) for one in found.remarks],
    )
    if json:
        problems = [{found.place: line, "reason": reason} for line, reason in found.problems]
        told = {**found.about, "problems": problems, "advice": found.advice, "remarks": found.remarks}
        told["tie"] = None if tie is None else tie.plain
        print(json_text.dumps(told, indent=2))
    else:
        lines = found.lines()
        there = sum(value is not None for value in found.about.values())
        for line in [*lines[:there], *([] if tie is None else tie.lines), *lines[there:]]:
            console.print(line, markup=False)
    if found.problems:
        raise SystemExit(1)


class LabelTie(NamedTuple):
    """How far labels and conditions go together."""

    lines: list[str]
    """A table of counts, and a sentence."""
    plain: dict[str, Any]
    """The same, ready for JSON."""


def label_tie(found: "Gathered", *, cut: bool) -> LabelTie | None:
    """Label x condition of recordings; None if one of them does not vary.

    Args:
        found: the recordings of a table.
        cut: whether the length of windows was chosen: windows are counted then, else recordings.
    """
    # Only here: a table without conditions is checked without torch.
    import torch

    from crest._cues.result import told_tie
    from crest._cues.sentences import tie_sentence
    from crest.exchange.ties import tie_of
    from crest.recordings.windows import window_starts

    labels: list[float] = []
    conditions: list[str] = []
    for one in found.recordings:
        if one.label is None or not one.condition or one.signal is None:
            continue
        starts = window_starts(len(one.signal.samples), found.options.window, found.options.step)
        many = len(starts) if cut else 1
        labels += [one.label] * many
        conditions += [one.condition] * many
    if len(set(labels)) < 2 or len(set(conditions)) < 2:
        return None
    tie = tie_of(torch.tensor(labels, dtype=torch.float64), conditions)
    if found.classes:
        codes = sorted({int(one) for one in labels})
        rows = torch.tensor([codes.index(int(one)) for one in labels])
        tie = dataclasses.replace(tie, targets=tuple(found.classes[one] for one in codes), rows=rows)
    what = "windows" if cut else "recordings"
    title = f"{found.options.label} x {found.options.condition}, {what}:"
    sentence = tie_sentence(tie, what, "Label")
    lines = [title, *(f"  {line}" for line in repr(tie).splitlines()), sentence]
    return LabelTie(lines, {**told_tie(tie), "counted": what, "sentence": sentence})
