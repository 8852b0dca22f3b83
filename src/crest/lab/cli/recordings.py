"""`crest recordings`: the user's recordings on disk, before anything is trained on them."""

# ruff: noqa: PLC0415

import dataclasses
import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from cyclopts import App, Parameter

from crest.lab.cli.console import console
from crest.lab.cli.wording import Behind, in_options_of

if TYPE_CHECKING:
    from crest.exchange.ties import Tie
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
    settings
        A JSON file that `RecordingOptions.save` wrote beside a model: its options apply unless you pass others here.
    sample_rate
        Samples per second of files that do not state it.
    resample
        Resample all recordings to this many samples per second.
    file
        Column of the table with the path of the signal. Default: file.
    label
        Column of the table with the target: numbers, or names of classes. Default: label.
    condition
        Column with the operating condition. Repeat it for several columns: --condition speed --condition load.
    start
        Column with the place where a row begins in its file: 12.5 (seconds), 6400 samples, or 60 %. Empty: the beginning.
    stop
        Column with the place where a row ends in its file, in the same form. Empty: the end.
    split
        Column that says train, id or ood.
    group
        Column with groups that stay together, such as a machine or a person.
    events
        Column with the event steps, if they are known.
    key
        Name of the array to read, if .npz and .mat files hold several.
    columns
        Columns of the signals that are channels, by name or by number from 0. Default: all but the time.
    time
        Column of the signals with the time, by name or by number. By default it is found.
    no_time
        The signals have no time column.
    scale
        Multiply the signals by this: one factor for all channels, or one for each. Default: 1, raw units.
    unit
        Unit of the signals after --scale, for messages. By default signals are called raw.
    standardise
        Standardise every window: by mean and standard deviation, or by median and median absolute deviation.
        By default windows stay as they are.
    label_mean
        Subtract this from numeric labels, if the model was trained on standardised ones. Default: 0.
    label_scale
        Then divide numeric labels by this. Default: 1.
    classes
        Labels are classes, even if they are numbers. Names after it give the order of the model's outputs; name also classes that no
        recording has. Default: labels are classes if none is a number, in sorted order.
    no_classes
        Labels are numbers.
    """

    signals: Annotated[Path | None, Behind("folder")] = None
    settings: Path | None = None
    sample_rate: float | None = None
    resample: float | None = None
    file: str | None = None
    label: Annotated[str | None, Behind("targets"), Behind("y")] = None
    condition: Annotated[list[str] | None, Behind("conditions")] = None
    start: str | None = None
    stop: str | None = None
    split: str | None = None
    group: str | None = None
    events: str | None = None
    key: str | None = None
    columns: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None
    time: str | None = None
    no_time: bool = False
    scale: Annotated[list[float] | None, Parameter(consume_multiple=True)] = None
    unit: str | None = None
    standardise: Literal["mean", "median"] | None = None
    label_mean: float | None = None
    label_scale: float | None = None
    classes: Annotated[
        list[str] | None, Parameter(name=["--classes", "--class-names"], consume_multiple=True)
    ] = None
    no_classes: bool = False

    def options(self, *, window: int | None, **others: Any) -> "RecordingOptions":
        """What to read and how; without a window each sample is one, which serves to count and to pad."""
        from crest.recordings.options import RecordingOptions

        if self.no_time and self.time is not None:
            raise ValueError(f"time must be left out with --no-time, got {self.time!r}")
        flags = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("signals", "settings", "no_time", "classes", "no_classes")
        }
        flags["classes"] = self._classes()
        given = {name: value for name, value in (flags | others).items() if value is not None}
        if self.no_time:
            given["time"] = False
        for name in ("condition", "scale"):
            if name in given and len(given[name]) == 1:
                given[name] = given[name][0]
        if self.settings is None:
            return RecordingOptions(window=1 if window is None else window, **given)
        kept = RecordingOptions.load(self.settings)
        return dataclasses.replace(kept, **given | ({} if window is None else {"window": window}))

    def _classes(self) -> list[str] | bool | None:
        """As `RecordingOptions` has it: names, True without any, False for numbers."""
        if self.no_classes and self.classes is not None:
            raise ValueError(f"classes must be left out with --no-classes, got {' '.join(self.classes)!r}")
        if self.classes and len(set(self.classes)) < max(2, len(self.classes)):
            raise ValueError(
                f"classes must be different names with spaces between, two or more, got {' '.join(self.classes)!r}"
            )
        if self.classes is None:
            return False if self.no_classes else None
        return self.classes or True

    def length(self, window: int | None) -> int | None:
        """Samples per window as typed, else as the settings have it; None if neither says it."""
        if window is not None or self.settings is None:
            return window
        return self.options(window=None).window


DEFAULT_FLAGS = RecordingFlags()


@recordings_app.command(name="check")
def check_table(
    table: Path,
    /,
    *,
    window: int | None = None,
    hop: int | None = None,
    recordings: RecordingFlags = DEFAULT_FLAGS,
    proxy: str | None = None,
    ood: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    id_by: Literal["block", "recording", "group"] = "block",
    id_fraction: float = 0.2,
    gap: float = 1.0,
    json: bool = False,
) -> None:
    """Show what a table of recordings holds, and what is wrong with it, row by row. The exit status is 1 if something is wrong.

    Parameters
    ----------
    table
        A .csv or .parquet file with a row for each recording, or for each part of one.
    window
        Samples per window. Default: windows are not counted.
    hop
        Samples from one window to the next. Default: the window.
    proxy
        Column with the smooth cue.
    ood
        Conditions to hold out as OOD; the command then tries the split.
    id_by
        Hold out blocks of each recording, whole recordings, or whole groups.
    id_fraction
        Share of the other conditions to hold out as ID.
    gap
        How much signal to leave out between training and held-out windows, in window lengths.
    json
        Print JSON.
    """
    from crest.recordings.gathering import gathered_recordings
    from crest.recordings.inventory import inventory
    from crest.recordings.options import Division

    window = recordings.length(window)
    options = recordings.options(window=window, hop=hop, proxy=proxy)
    if ood is not None and options.split is not None:
        raise ValueError("ood must be left out with --split, whose column says which rows are ood")
    if ood is not None and (options.condition is None or window is None):
        raise ValueError("ood must come with --condition and --window, which say what is divided")
    division = Division(id_by=id_by, id_fraction=id_fraction, gap=gap)
    gathered = gathered_recordings(table, recordings.signals, options)
    found = inventory(gathered, ood, division, cut=window is not None)
    ties = label_ties(gathered, cut=window is not None) if options.conditions else {}
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
        told["ties"] = {column: tie.plain for column, tie in ties.items()}
        print(json_text.dumps(told, indent=2))
    else:
        lines = found.lines()
        there = sum(value is not None for value in found.about.values())
        for line in [*lines[:there], *(line for tie in ties.values() for line in tie.lines), *lines[there:]]:
            console.print(line, markup=False)
    if found.problems:
        raise SystemExit(1)


class LabelTie(NamedTuple):
    """How far labels and conditions go together."""

    lines: list[str]
    """A table of counts, and a sentence."""
    plain: dict[str, Any]
    """The same, ready for JSON."""


def label_ties(found: "Gathered", *, cut: bool) -> dict[str, LabelTie]:
    """Label x condition of recordings by condition column; a column is left out if it or the label does not vary.

    With a column of splits, training rows are counted alone: what is tied there, a model can learn. The strength is told of each part.

    Args:
        found: the recordings of a table.
        cut: whether the length of windows was chosen: windows are counted then, else recordings.
    """
    from crest.recordings.options import SPLIT_PARTS

    first, *others = SPLIT_PARTS
    ties = {}
    for place, column in enumerate(found.options.conditions):
        tie = _tie_in(found, place, first, cut=cut)
        if tie is None:
            continue
        parts = {first: tie}
        for part in others if found.options.split is not None else ():
            if (other := _tie_in(found, place, part, cut=cut)) is not None:
                parts[part] = other
        ties[column] = _label_tie(found, column, parts, cut=cut)
    return ties


def _tie_in(found: "Gathered", place: int, part: str, *, cut: bool) -> "Tie | None":
    """The tie of label and one condition in a part of the split, all recordings if there is none; None if one does not vary."""
    # Only here: a table without conditions is checked without torch.
    import torch

    from crest.exchange.ties import tie_of
    from crest.recordings.table import is_number
    from crest.recordings.windows import window_starts

    good = [
        one
        for one in found.recordings
        if one.label is not None and one.condition and one.signal is not None and one.split in (None, part)
    ]
    # Numbers in their own order: 600 comes before 1200.
    numbers = all(is_number(one.conditions[place]) for one in good)
    labels: list[float] = []
    values: list[float | str] = []
    for one in good:
        many = len(window_starts(one.length or 0, found.options.window, found.options.step)) if cut else 1
        labels += [one.label or 0.0] * many
        values += [float(one.conditions[place]) if numbers else one.conditions[place]] * many
    if len(set(labels)) < 2 or len(set(values)) < 2:
        return None
    tie = tie_of(torch.tensor(labels, dtype=torch.float64), values)
    if not found.classes:
        return tie
    codes = sorted(set(map(int, labels)))
    rows = torch.tensor([codes.index(int(one)) for one in labels])
    return dataclasses.replace(tie, targets=tuple(found.classes[one] for one in codes), rows=rows)


def _label_tie(found: "Gathered", column: str, parts: "dict[str, Tie]", *, cut: bool) -> LabelTie:
    from crest._cues.result import told_tie
    from crest._cues.sentences import tie_sentence

    tie = parts["train"]
    what = "windows" if cut else "recordings"
    counted = what if found.options.split is None else f"training {what}"
    sentence = tie_sentence(tie, counted, "Label")
    lines = [
        f"{found.options.label} x {column}, {counted}:",
        *(f"  {line}" for line in repr(tie).splitlines()),
        sentence,
    ]
    strengths = {part: one.strength for part, one in parts.items()}
    if len(strengths) > 1:
        lines.append(
            f"Cramér's V by part: {', '.join(f'{part} {one:.2f}' for part, one in strengths.items())}."
        )
    unlike = tie.tied and "id" in parts and not parts["id"].tied
    if unlike:
        lines.append(
            f"But ID {what} are unlike training: an audit of them does not show what this tie does to a model."
        )
    more = {"parts": strengths, "id_as_in_training": not unlike}
    return LabelTie(lines, {**told_tie(tie), "counted": counted, "sentence": sentence, **more})
