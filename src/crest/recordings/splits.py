"""Splits of recordings: conditions held out for OOD, time blocks or whole recordings for ID."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crest._base import rng
from crest._base.arguments import did_you_mean
from crest._base.doors import door
from crest.recordings.options import SPLIT_PARTS, Division, IdBy, RecordingOptions
from crest.recordings.trajectories import Splits, Trajectories


class Holdout(NamedTuple):
    """Which windows are trained on and which are held out; those of the gaps are neither."""

    train: npt.NDArray[np.bool_]
    id: npt.NDArray[np.bool_]
    whole: int
    """Recordings that are too short to be divided, and so are in train as a whole."""


@door
def split_by_condition(
    trajectories: Trajectories,
    ood: str | float | Sequence[str | float],
    *,
    id_fraction: float = 0.2,
    id_by: IdBy = "block",
    gap: float = 1,
    seed: int = 0,
    standardise_labels: bool = False,
) -> Splits:
    """Train, ID and OOD windows: OOD has the conditions in `ood`, ID is held out of the rest.

    Args:
        trajectories: What `load_recordings` returned, with a condition column.
        ood: One condition or several, compared as text: 1500 is "1500". With several condition columns, "speed=1500" means
            every condition with this speed, and "1500, low" one combination.
        id_fraction: Share of the windows of each recording, or of the recordings or groups, that is held out.
        id_by: "block" holds out one run of windows at a random place of each recording, with a gap to the
            training windows; a recording too short for that stays in train. "recording" holds out whole
            recordings (files), "group" whole groups of the column that `group=` of `load_recordings` names.
        gap: Signal between a training window and a held-out one of the same recording, at least, in window
            lengths. 0 lets them touch; they never overlap. Windows in the gap are in no split; `source` of
            the training split says how many.
        seed: Seed of what is held out.
        standardise_labels: Give the labels mean 0 and variance 1 on the training windows, the same shift and scale
            in all splits; `extra["label"]` then holds them as they were, and `options` has shift and scale. By default labels
            stay as they are in the table. Numbers of classes always do.

    Example:
        >>> n = np.arange(20)
        >>> data = Trajectories(
        ...     x=np.zeros((20, 8, 1)), y=n % 3.0, sample_rate=1.0, channels=("a",),
        ...     extra={"recording": n // 10, "start": n % 10 * 8, "condition": np.repeat(["s", "f"], 10)},
        ... )
        >>> splits = split_by_condition(data, ood="f")
        >>> len(splits.ood), len(splits.id), len(splits.train) in (6, 7)
        (10, 2, True)
    """
    _require_extra(trajectories, "condition")
    division = Division(
        id_fraction=id_fraction, id_by=id_by, gap=gap, seed=seed, standardise_labels=standardise_labels
    )
    return split_rows(trajectories, of_conditions(trajectories, ood), None, division)


@door
def split_by_column(
    trajectories: Trajectories,
    *,
    id_fraction: float = 0.2,
    id_by: IdBy = "block",
    gap: float = 1,
    seed: int = 0,
    standardise_labels: bool = False,
) -> Splits:
    """Train, ID and OOD windows as a column of the table says: the one that `split=` of `load_recordings` names.

    If no row is `id`, ID is held out of the rows that are `train`, as in `split_by_condition`. If no row is `ood`, the ID
    windows stand in its place too.

    Args:
        trajectories: What `load_recordings` returned, with a column of splits.
        id_fraction: As in `split_by_condition`; only if no row is `id`.
        id_by: The same.
        gap: The same.
        seed: The same.
        standardise_labels: Give the labels mean 0 and variance 1 on the training windows.

    Example:
        >>> n = np.arange(20)
        >>> data = Trajectories(
        ...     x=np.zeros((20, 8, 1)), y=n % 3.0, sample_rate=1.0, channels=("a",),
        ...     extra={"recording": n // 10, "start": n % 10 * 8, "split": np.repeat(["train", "id", "ood"], [12, 4, 4])},
        ... )
        >>> splits = split_by_column(data)
        >>> len(splits.train), len(splits.id), len(splits.ood)
        (12, 4, 4)
    """
    _require_extra(trajectories, "split")
    division = Division(
        id_fraction=id_fraction, id_by=id_by, gap=gap, seed=seed, standardise_labels=standardise_labels
    )
    return split_rows(trajectories, *parts_of(trajectories), division)


def parts_of(trajectories: Trajectories) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_] | None]:
    """Which windows a column of splits calls OOD, and which it calls ID; None if it calls none ID."""
    part = trajectories.extra["split"]
    unknown = sorted(set(part.tolist()) - set(SPLIT_PARTS))
    if unknown:
        raise ValueError(f"extra['split'] must hold {', '.join(SPLIT_PARTS)}, got {unknown[0]!r}")
    if not (part == "train").any():
        raise ValueError("split must leave rows to train on, got no cell 'train' in its column")
    is_id = part == "id"
    return part == "ood", is_id if is_id.any() else None


def _require_extra(trajectories: Trajectories, column: str) -> None:
    missing = [name for name in ("recording", "start", column) if name not in trajectories.extra]
    if missing:
        raise ValueError(
            f"trajectories must have recording, start and {column} in extra, got no {', '.join(missing)}; "
            f"name the column: load_recordings(..., {column}=...)"
        )


def split_rows(
    trajectories: Trajectories,
    is_ood: npt.NDArray[np.bool_],
    is_id: npt.NDArray[np.bool_] | None,
    division: Division,
) -> Splits:
    """Train, ID and OOD windows if it is known which are OOD, and perhaps which are ID.

    If none is OOD, the ID windows stand in its place too, and `source` says so.

    Args:
        trajectories: what `load_recordings` returned.
        is_ood: (N,), True where a window is OOD.
        is_id: (N,), True where a window is ID; then nothing is drawn.
        division: how ID is held out of those that are not OOD.
    """
    seen = trajectories[~is_ood]
    generator = rng.generator(division.seed, f"recordings/id by {division.id_by}")
    recording, start = seen.extra["recording"], seen.extra["start"]
    if is_id is not None:
        held = Holdout(~is_id[~is_ood], is_id[~is_ood], 0)
    elif division.id_by == "recording":
        held = held_out_recordings(recording, division.id_fraction, generator)
    elif division.id_by == "group":
        _require_extra(trajectories, "group")
        names, numbers = np.unique(seen.extra["group"], return_inverse=True)
        if len(names) < 2:
            raise ValueError(f"id_by='group' must find 2 groups outside ood, got {len(names)}")
        held = held_out_recordings(numbers, division.id_fraction, generator)
    else:
        reach = (1 + division.gap) * seen.x.shape[1]
        held = held_out_blocks(recording, start, reach, division.id_fraction, generator)
    lost = len(seen) - int(held.train.sum()) - int(held.id.sum())
    inside = seen[held.id]
    parts = {
        "train": (
            seen[held.train],
            f"train, {lost} windows left out as gaps, {held.whole} recordings too short to be divided",
        ),
        "id": (inside, "ID"),
        "ood": (trajectories[is_ood], "OOD") if is_ood.any() else (inside, "ID again, since nothing is OOD"),
    }
    splits = Splits(
        **{
            name: dataclasses.replace(part, source=f"{part.source}; {note}")
            for name, (part, note) in parts.items()
        }
    )
    return standardised(splits) if division.standardise_labels and not trajectories.classes else splits


def of_conditions(
    trajectories: Trajectories, ood: str | float | Sequence[str | float], name: str = "ood"
) -> npt.NDArray[np.bool_]:
    """True where a trajectory's condition is one of `ood`; refuses what is not there, and all of them.

    Args:
        trajectories: with conditions in `extra`.
        ood: conditions, or `column=value` if there are several condition columns.
        name: of the argument.
    """
    if ood is None:
        raise ValueError(f"{name} must name one condition or several, got None")
    condition = trajectories.extra["condition"]
    columns = () if trajectories.options is None else trajectories.options.conditions
    wanted = [str(one) for one in ([ood] if isinstance(ood, str | float | int) else ood)]
    there = {str(one): condition == one for one in sorted(set(condition.tolist()))}
    choices = list(there)
    for column in columns if len(columns) > 1 else ():
        values = trajectories.extra[column]
        there |= {f"{column}={one}": values == one for one in sorted(set(values.tolist()))}
        choices = [one for one in there if "=" in one]
    unknown = [one for one in wanted if one not in there]
    if unknown or not wanted:
        meant = did_you_mean(unknown[0], choices) if len(unknown) == 1 else ""
        raise ValueError(
            f"{name} must name conditions among {'; '.join(choices) if len(columns) > 1 else ', '.join(choices)}, "
            f"got {', '.join(unknown) or 'none'}{meant}"
        )
    found = np.logical_or.reduce([there[one] for one in wanted])
    if found.all():
        raise ValueError(f"{name} must leave a condition to train on, got all of them: {', '.join(wanted)}")
    return np.asarray(found)


def held_out_recordings(
    recording: npt.NDArray[np.integer[Any]], fraction: float, generator: np.random.Generator
) -> Holdout:
    """Whole recordings for ID: the given fraction of them, one at least."""
    numbers = np.unique(recording)
    if len(numbers) < 2:
        raise ValueError(f"id_by='recording' must find 2 recordings outside ood, got {len(numbers)}")
    count = min(max(1, round(fraction * len(numbers))), len(numbers) - 1)
    held = np.isin(recording, generator.choice(numbers, count, replace=False))
    return Holdout(~held, held, 0)


def held_out_blocks(
    recording: npt.NDArray[np.integer[Any]],
    start: npt.NDArray[np.integer[Any]],
    reach: float,
    fraction: float,
    generator: np.random.Generator,
) -> Holdout:
    """One run of neighbouring windows of each recording for ID, `reach` samples from train, start to start.

    Example:
        >>> held = held_out_blocks(np.zeros(9, int), np.arange(9) * 4, 8, 0.2, np.random.default_rng(0))
        >>> "".join("T" if t else "I" if i else "." for t, i in zip(held.train, held.id))
        'TTTTT.II.'
    """
    train, held = np.zeros(len(start), dtype=np.bool_), np.zeros(len(start), dtype=np.bool_)
    whole = 0
    for number in np.unique(recording):
        rows = np.flatnonzero(recording == number)
        block = _block(np.sort(start[rows]), reach, fraction, generator)
        if block is None:
            train[rows], whole = True, whole + 1
            continue
        first, last = block
        held[rows] = (start[rows] >= first) & (start[rows] <= last)
        train[rows] = (start[rows] <= first - reach) | (start[rows] >= last + reach)
    if not held.any():
        raise ValueError(
            f"gap must leave room for a held-out and a training window in some recording, "
            f"got {reach:g} samples from start to start, longer than every recording; "
            "use id_by='recording', a smaller gap or a shorter window"
        )
    return Holdout(train, held, whole)


def _block(
    starts: npt.NDArray[np.integer[Any]], reach: float, fraction: float, generator: np.random.Generator
) -> tuple[int, int] | None:
    """First and last start of a block that leaves a training window; shorter than asked if it must be."""
    wanted = max(1, round(fraction * len(starts)))
    for count in range(wanted, 0, -1):
        firsts, lasts = starts[: len(starts) - count + 1], starts[count - 1 :]
        places = np.flatnonzero((starts[0] <= firsts - reach) | (starts[-1] >= lasts + reach))
        if len(places):
            place = generator.choice(places)
            return int(firsts[place]), int(lasts[place])
    return None


def standardised(splits: Splits) -> Splits:
    """The splits with labels of mean 0 and variance 1 on train, and the old ones in `extra["label"]`."""
    mean, spread = float(splits.train.y.mean()), float(splits.train.y.std())
    if np.ptp(splits.train.y) == 0:
        raise ValueError(f"label must vary in train to be standardised, got only {mean}")

    def scaled(part: Trajectories) -> Trajectories:
        return dataclasses.replace(
            part,
            y=(part.y - mean) / spread,
            extra={**part.extra, "label": part.y},
            options=part.options and _with_labels(part.options, mean, spread),
        )

    return Splits(train=scaled(splits.train), id=scaled(splits.id), ood=scaled(splits.ood))


def _with_labels(options: RecordingOptions, mean: float, spread: float) -> RecordingOptions:
    """The options with a further shift and scale of the labels."""
    return dataclasses.replace(
        options,
        label_mean=options.label_mean + options.label_scale * mean,
        label_scale=options.label_scale * spread,
    )
