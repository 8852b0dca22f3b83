"""What a table of recordings holds, in numbers and in words, whatever is wrong with it."""

import collections
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from crest._base.order import natural_order
from crest.recordings.gathering import Gathered
from crest.recordings.loading import joined
from crest.recordings.options import SPLIT_PARTS, Division
from crest.recordings.problems import told_problems
from crest.recordings.splits import split_by_column, split_by_condition
from crest.recordings.trajectories import Splits
from crest.recordings.windows import SHORT_WINDOW, window_starts

_MUCH = 0.1
"""The share of a recording that may be lost unmentioned after its last window."""
_GAPS = "left out as gaps"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inventory:
    """What was found. `about` holds plain values; `problems` are pairs of a line (None for the whole) and a reason."""

    about: dict[str, Any]
    problems: list[tuple[int | None, str]]
    place: str
    """How the table counts: "line" or "row"."""
    advice: list[str] = dataclasses.field(default_factory=list)
    """What to do if one cause is behind many problems."""
    remarks: list[str] = dataclasses.field(default_factory=list)
    """What is lost if nothing is wrong."""

    def lines(self) -> list[str]:
        """A line of text for each thing that is there, one for each reason why rows are wrong, and what to do."""
        there = [f"{name:<12}{_words(value)}" for name, value in self.about.items() if value is not None]
        if not self.problems:
            return [*there, "No problems.", *(f"But {one}." for one in self.remarks)]
        count = len(self.problems)
        wrong = [f"  {line}" for line in told_problems(self.place, self.problems)]
        to_do = [f"What to do: {one}" for one in self.advice]
        return [*there, f"{count} problem{'s' * (count > 1)}:", *wrong, *to_do]


def inventory(
    found: Gathered, ood: Sequence[str] | None = None, division: Division | None = None, *, cut: bool = True
) -> Inventory:
    """What was gathered, told.

    Args:
        found: the recordings of a table.
        ood: conditions that would be held out. The split, by these or by a column, is tried if nothing is wrong with the recordings.
        division: how ID would be held out.
        cut: whether the length of windows was chosen, so that their number means something.
    """
    problems: list[tuple[int | None, str]] = [
        (problem.line, problem.reason) for problem in sorted(found.problems, key=lambda problem: problem.line)
    ]
    if found.silent:
        problems.append((None, found.rate_missing()))
    window, hop = found.options.window, found.options.step
    read = [(one, one.signal) for one in found.recordings if one.signal is not None]
    lengths = [len(signal.samples) for _, signal in read]
    windows = sum(len(window_starts(length, window, hop)) for length in lengths)
    given = found.options.sample_rate
    silent = "not said" if given is None else f"{given:g} (given)"
    rates = collections.Counter(silent if one.own_rate is None else f"{one.own_rate:g}" for one, _ in read)
    times = collections.Counter(signal.time for _, signal in read if signal.time is not None)
    files = len({one.number for one, _ in read})
    about: dict[str, Any] = {
        "table": str(found.table.path),
        "rows": found.table.size,
        # Fewer than signals if rows are parts of files.
        "files": files if files < len(read) else None,
        "signals": len(read),
        "channels": list(found.channels),
        "rates": dict(rates),
        "resampled": found.options.resample,
        "time": dict(times) or None,
        "lengths": {"shortest": min(lengths), "longest": max(lengths)} if lengths else None,
        "units": found.options.units,
        "labels": None if found.classes else _labels(found),
        "label units": None if found.classes else found.options.label_units,
        "classes": _classes(found),
        "conditions": _conditions(found),
        "groups": None if found.options.group is None else len({one.group for one in found.recordings}),
        "events": _events(found),
        "windows": windows if cut else None,
        "split": None,
    }
    remarks = _lost_ends(lengths, window, hop) if cut and not problems else []
    remarks += [] if problems else about_options(found, cut=cut)
    if (ood is not None or (found.options.split is not None and cut)) and not problems:
        how = dataclasses.asdict(division or Division()) | {"standardise_labels": False}
        try:
            data = joined(found)
            splits = (
                split_by_column(data, **how) if ood is None else split_by_condition(data, list(ood), **how)
            )
            has_ood = ood is not None or any(one.split == "ood" for one in found.recordings)
            about["split"] = _sizes(splits, windows, has_ood=has_ood)
            if gaps := about["split"].get(_GAPS):
                remarks.append(f"{gaps} windows are gaps around ID, which id_by='recording' would not need")
        except ValueError as error:
            problems.append((None, str(error)))
            remarks = []
    return Inventory(
        about=about, problems=problems, place=found.table.place, advice=found.advice, remarks=remarks
    )


def about_options(found: Gathered, *, cut: bool = True) -> list[str]:
    """What may mislead though nothing is wrong, in sentences: a split that is taken for a condition, windows that are short.

    Args:
        found: the recordings of a table.
        cut: whether the length of windows was chosen.
    """
    told = []
    for place, column in enumerate(found.options.conditions):
        cells = {one.conditions[place] for one in found.recordings}
        if "train" in cells and cells & set(SPLIT_PARTS[1:]):
            told.append(
                f"{column!r} looks like a column of splits ({', '.join(sorted(cells))}), and is read as a condition here: "
                f"split={column!r} takes its rows as they are"
            )
    if cut and found.options.window <= SHORT_WINDOW:
        told.append(
            f"windows of {found.options.window} steps are too short to tell brief events from a smooth background: take "
            f"more than {SHORT_WINDOW}"
        )
    return told


def _lost_ends(lengths: list[int], window: int, hop: int) -> list[str]:
    """How many recordings lose much after their last window, and the longest window by which none would."""
    there = np.array(lengths)
    lost = _unused(there, window, hop)
    many = int((lost > _MUCH * there).sum())
    if not many:
        return []
    said = f"{many} of {len(lengths)} recordings lose more than a tenth at their ends, up to {lost.max()} samples"
    different = np.unique(there)
    for shorter in range(window - 1, window // 2, -1):
        left = _unused(different, shorter, shorter if hop == window else hop)
        if not (left > _MUCH * different).any():
            return [f"{said}: window={shorter} loses {left.max()} at most"]
    return [said]


def _unused(lengths: npt.NDArray[np.int64], window: int, hop: int) -> npt.NDArray[np.int64]:
    """Samples after the last of the windows that `window_starts` gives."""
    return np.asarray((lengths - window) % hop)


def _labels(found: Gathered) -> dict[str, float] | None:
    mean, scale = found.options.label_mean, found.options.label_scale
    labels = [(one.label - mean) / scale for one in found.recordings if one.label is not None]
    return {"lowest": min(labels), "highest": max(labels), "mean": float(np.mean(labels))} if labels else None


def _classes(found: Gathered) -> dict[str, int] | None:
    """Recordings of each class, in the order of their numbers."""
    if not found.classes:
        return None
    count = collections.Counter(one.label for one in found.recordings)
    return {name: count[float(number)] for number, name in enumerate(found.classes)}


def _conditions(found: Gathered) -> dict[str, Any] | None:
    """Recordings of each condition; of several columns by column."""
    columns = {
        name: collections.Counter(one.conditions[place] for one in found.recordings if one.conditions[place])
        for place, name in enumerate(found.options.conditions)
    }
    counts = {
        name: {value: column[value] for value in natural_order(column)} for name, column in columns.items()
    }
    return None if not counts else counts if len(counts) > 1 else next(iter(counts.values()))


def _events(found: Gathered) -> dict[str, float] | None:
    """How many recordings have events, and which share of all steps they take."""
    masks = [one.events for one in found.recordings if one.events is not None]
    if not masks:
        return None
    steps = sum(len(mask) for mask in masks)
    share = sum(int(mask.sum()) for mask in masks) / max(steps, 1)
    return {"recordings": sum(bool(mask.any()) for mask in masks), "share of steps": round(share, 4)}


def _sizes(splits: Splits, windows: int, *, has_ood: bool) -> dict[str, int]:
    """Windows of each split, and of the gaps between training and ID, which are in none."""
    # With nothing OOD, the ID windows stand in its place.
    sizes = {"train": len(splits.train), "id": len(splits.id), "ood": len(splits.ood) if has_ood else 0}
    gaps = windows - sum(sizes.values())
    return sizes | ({_GAPS: gaps} if gaps else {})


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return (
            ", ".join(
                f"{name} ({_words(one)})" if isinstance(one, dict) else f"{name}: {_words(one)}"
                for name, one in value.items()
            )
            or "none"
        )
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
