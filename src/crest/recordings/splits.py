"""Splits of recordings: conditions held out for OOD, time blocks or whole recordings for ID."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crest._base import rng
from crest._base.arguments import did_you_mean
from crest._base.doors import door
from crest.recordings.options import Division, IdBy
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
    standardise: bool = True,
) -> Splits:
    """Train, ID and OOD windows: OOD has the conditions in `ood`, ID is held out of the rest.

    Args:
        trajectories: What `load_recordings` returned, with a condition column.
        ood: One condition or several, compared as text: 1500 is "1500".
        id_fraction: Share of the windows of each recording, or of the recordings, that is held out.
        id_by: "block" holds out one run of windows at a random place of each recording, with a gap to the
            training windows; a recording too short for that stays in train. "recording" holds out whole
            recordings.
        gap: Signal between a training window and a held-out one of the same recording, at least, in window
            lengths. 0 lets them touch; they never overlap. Windows in the gap are in no split; `source` of
            the training split says how many.
        seed: Seed of what is held out.
        standardise: Give the labels mean 0 and variance 1 on the training windows, the same shift and scale
            in all splits; `extra["label"]` then holds them as they were. Numbers of classes stay as they are.

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
    missing = [name for name in ("recording", "start", "condition") if name not in trajectories.extra]
    if missing:
        raise ValueError(
            f"trajectories must have recording, start and condition in extra, got no {', '.join(missing)}; "
            "name the column: load_recordings(..., condition=...)"
        )
    division = Division(id_fraction=id_fraction, id_by=id_by, gap=gap, seed=seed, standardise=standardise)
    return split_rows(trajectories, _of_conditions(trajectories.extra["condition"], ood), division)


def split_rows(
    trajectories: Trajectories,
    is_ood: npt.NDArray[np.bool_],
    division: Division,
    is_id: npt.NDArray[np.bool_] | None = None,
) -> Splits:
    """Train, ID and OOD windows if it is known which are OOD, and perhaps which are ID.

    If none is OOD, the ID windows stand in its place too, and `source` says so.

    Args:
        trajectories: what `load_recordings` returned.
        is_ood: (N,), True where a window is OOD.
        division: how ID is held out of those that are not OOD.
        is_id: (N,), True where a window is ID; then nothing is drawn.
    """
    seen = trajectories[~is_ood]
    generator = rng.generator(division.seed, f"recordings/id by {division.id_by}")
    recording, start = seen.extra["recording"], seen.extra["start"]
    if is_id is not None:
        held = Holdout(~is_id[~is_ood], is_id[~is_ood], 0)
    elif division.id_by == "recording":
        held = held_out_recordings(recording, division.id_fraction, generator)
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
    return standardised(splits) if division.standardise and not trajectories.classes else splits


def _of_conditions(
    condition: npt.NDArray[Any], ood: str | float | Sequence[str | float]
) -> npt.NDArray[np.bool_]:
    """True where a trajectory's condition is one of `ood`; refuses what is not there, and all of them."""
    if ood is None:
        raise ValueError("ood must name one condition or several, got None")
    wanted = [str(name) for name in ([ood] if isinstance(ood, str | float | int) else ood)]
    there = sorted(set(condition.tolist()))
    unknown = [name for name in wanted if name not in there]
    if unknown or not wanted:
        meant = did_you_mean(unknown[0], there) if len(unknown) == 1 else ""
        raise ValueError(
            f"ood must name conditions among {', '.join(there)}, got {', '.join(unknown) or 'none'}{meant}"
        )
    if set(wanted) == set(there):
        raise ValueError(f"ood must leave a condition to train on, got all of them: {', '.join(there)}")
    return np.isin(condition, wanted)


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
        return dataclasses.replace(part, y=(part.y - mean) / spread, extra={**part.extra, "label": part.y})

    return Splits(train=scaled(splits.train), id=scaled(splits.id), ood=scaled(splits.ood))
