"""`crest.cues`: what a network could read the target from, found in the data alone."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.doors import door_leaving
from crest._base.recorded import recorded
from crest._cues.inputs import (
    SignalRows,
    Targets,
    TooFewGroupsError,
    emptied_level,
    require_enough_groups,
    signals_of,
    targets_of,
    tie_with,
)
from crest._cues.readers import read, widened
from crest._cues.result import CUE_NUISANCES, Cue, Cues
from crest._cues.scores import CueScore, Draws, by_condition, score_of
from crest._cues.sentences import told
from crest.exchange.groups import groups_of
from crest.exchange.ties import Conditions
from crest.nuisances import SeparatedSignals
from crest.nuisances.separated import AROUND

# Values that are separated at a time: more would not fit a processor's cache, and take longer.
_AT_A_TIME = 2**17
_READ = (*CUE_NUISANCES, "gain around", "colour around", "core")
BOTH_SIDES = "Windows of one recording are on both sides, so scores are too good"
"""What it means to leave single windows out, for a note."""
_ALL = (*CUE_NUISANCES, "core")


@door_leaving("x", "y", "conditions", "groups", "mask")
def cues(
    x: Any,
    y: Any = None,
    conditions: Conditions | None = None,
    *,
    groups: Any = None,
    mask: Any = None,
    classes: bool | None = None,
    channels_first: bool = False,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Cues:
    """How well the target is read from each nuisance alone, from what is brief alone, and from all together.

    No network is trained. Each reader is a ridge in closed form on a few numbers and on waves of them, so that it also sees
    what rises and falls. Its score is that of trajectories which were left out of the fit. A nuisance that tells the
    target is a cue: a network will find it, whether it causes the target or not.

    Args:
        x: signals (N, T, C), a tensor or an array. What `crest.recordings.load_recordings` and its splits return is taken as it is,
            with its labels and groups.
        y: targets (N,), which loaded recordings have; or one-hot classes (N, K). Text, booleans and whole numbers with up to 20 values are classes.
        conditions: the operating condition of each trajectory (N,), or several columns by name. With loaded recordings also the
            name of a column of `extra`, such as "condition".
        groups: (N,), such as patients or machines: each is left out as a whole. Give it if several windows are of one recording,
            which a reader may otherwise recognise by its neighbours. Two or more of each class, four or more for numbers.
        mask: valid steps (N, T), or the length of each trajectory (N,).
        classes: whether y are classes. Default: found out.
        channels_first: whether x is (N, C, T).
        bootstrap: how many samples the intervals come from.
        seed: of the readers' waves and of the bootstrap.

    Example:
        >>> generator = torch.Generator().manual_seed(1000)
        >>> level = torch.randn(64, generator=generator)
        >>> x = level[:, None, None] + 0.1 * torch.randn(64, 100, 1, generator=generator)
        >>> found = cues(x, 2 * level)
        >>> round(found["offset"].score, 1), found["drift"].share
        (1.0, 0.0)
    """
    require("bootstrap", bootstrap, "be a whole number, 1 or more")
    require("seed", seed, "be a whole number, 0 or more")
    if (data := recorded(x)) is not None:
        x = data.x.mT if channels_first else data.x
        named = y is None and data.classes
        y = [data.classes[int(one)] for one in data.y] if named else data.labels if y is None else y
        conditions = data.named_conditions(conditions)
    rows = signals_of(x, mask, channels_first)
    trajectories = len(rows.signals)
    targets = targets_of(y, trajectories, classes)
    tie = None if conditions is None else tie_with(targets, conditions)
    left, notes = None, [] if targets.note is None else [targets.note]
    if groups is not None:
        left = groups_of(groups, trajectories)
        require_enough_groups(left, targets)
        if (lost := emptied_level(left, targets)) is not None:
            notes.append(
                f"Left out as a whole, groups take what a reader must learn: {lost}. Scores are too low."
            )
    elif data is not None and data.groups is not None:
        left = _enough(data.groups, targets, notes)
    alone = np.arange(trajectories) if left is None else left.numpy()
    draws = Draws.made(alone, bootstrap, seed)

    numbers = readings_of(rows)
    vectors = {name: widened(numbers[name], seed) for name in numbers}
    vectors["surroundings"] = torch.cat([vectors[name] for name in AROUND], 1)
    vectors["all"] = torch.cat([vectors[name] for name in _ALL], 1)
    if tie is not None:
        vectors["condition"] = torch.nn.functional.one_hot(tie.columns).to(torch.float64)

    def measured(name: str) -> CueScore:
        return score_of(targets.wanted, read(vectors[name], targets.wanted.columns, left), draws)

    found = []
    for name in (*CUE_NUISANCES, "surroundings", "core", "all", *(() if tie is None else ("condition",))):
        score = measured(name)
        around = f"{name} around"
        found.append(
            Cue(
                name=name,
                score=score.value,
                interval=score.interval,
                chance=targets.wanted.chance,
                beats_constant=score.beats_constant,
                around=measured(around).value if around in vectors else None,
                by_condition=None
                if tie is None or name not in numbers
                else by_condition(numbers[name], tie.columns),
            )
        )
    count = None if left is None else int(left.max()) + 1
    return Cues(
        rows=tuple(found),
        measure="balanced accuracy" if targets.names else "R2",
        trajectories=trajectories,
        groups=count,
        classes=targets.names,
        tie=tie,
        sentences=told(found, tie, f"{count} groups" if count else f"{trajectories} trajectories"),
        notes=tuple(notes),
    )


def _enough(groups: list[Any], targets: Targets, notes: list[str]) -> Tensor | None:
    """The groups that loaded trajectories have, if they can be left out as a whole; else None, and a note says why."""
    left = groups_of(groups, len(groups))
    try:
        require_enough_groups(left, targets)
        why = emptied_level(left, targets)
    except TooFewGroupsError as few:
        why = str(few)
    if why is None:
        return left
    notes.append(
        f"Trajectories are left out one by one, because recordings or groups are too few to leave out: {why}. {BOTH_SIDES}."
    )
    return None


def readings_of(rows: SignalRows, names: Sequence[str] = _READ) -> dict[str, Tensor]:
    """What readers see of each trajectory, by name: (N, F) in float64."""
    found: dict[str, Tensor] = {}
    for some, signals in _pieces(rows):
        parts = SeparatedSignals(signals)
        for name in names:
            numbers = parts.reading(name, scale=1.0).cpu()
            if name not in found:
                found[name] = numbers.new_zeros(len(rows.signals), numbers.shape[1])
            found[name][some] = numbers
    return found


def _pieces(rows: SignalRows) -> Iterator[tuple[Tensor, Tensor]]:
    """Numbers of trajectories of one length, and their valid steps (B, T, C): one after the other would take long."""
    N, T, C = rows.signals.shape
    lengths = torch.full((N,), T) if rows.mask is None else rows.mask.sum(1).cpu()
    for length in sorted(set(lengths.tolist())):
        members = (lengths == length).nonzero().flatten()
        for some in members.split(max(1, _AT_A_TIME // (length * C))):
            signals = rows.signals[some]
            if rows.mask is not None:
                signals = signals[rows.mask[some]].reshape(len(some), length, C)
            yield some, signals
