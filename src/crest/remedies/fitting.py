"""Which remedies fit: those that answer the nuisances which move a prediction, alone and joined."""

from collections.abc import Sequence
from functools import partial
from typing import cast

import torch

from crest._base.arguments import require
from crest._base.doors import door
from crest.nuisances.separated import nuisances_of
from crest.remedies.augmentation import Augmentation
from crest.remedies.chain import Chain
from crest.remedies.registry import REMEDIES
from crest.remedies.remedy import ChangeMaker, Remedy

# our choice: docs/evidence/choices.md#fitting
_MOST_CHANGES = 2
_CHANGES = {
    "colour": "exchange of colour",
    "rate": "stretch",
    "tones": "exchange of tones",
    "drift": "exchange",
    "offset": "exchange",
    "surroundings": "exchange of surroundings",
    "gain": "exchange of gain",
}
"""The change of batches that answers each nuisance, those first that a front answers worst."""
# What a combination calls a change, if it is shorter than the change's own name.
_SHORT = {f"exchange of {name}": name for name in ("colour", "tones", "gain", "surroundings")}


@door
def fitting_remedies(nuisances: str | Sequence[str], *, conditions: bool = False) -> dict[str, Remedy]:
    """The remedies to try against nuisances that move a prediction, by name: eight at most.

    Single remedies that answer them, then a front joined with up to two changes of batches for what the front leaves.
    With known conditions, balanced sampling too, alone and with the fullest combinations. A front that takes off a
    nuisance which was not named is not tried, since the target may be told by it; offset and drift are never part of a
    brief event.

    Args:
        nuisances: of `crest.nuisances.NAMES`: a list, or joined by "+". None gives no remedies.
        conditions: whether the operating condition of each training trajectory is known.

    Example:
        >>> list(fitting_remedies("offset"))
        ['AC coupling', 'level jitter', 'exchange']
        >>> list(fitting_remedies("gain+colour+rate"))
        ['standardise', 'standardise + colour + stretch', 'envelope + stretch']
    """
    require("conditions", conditions, "be True or False")
    named = set(nuisances_of(nuisances, "nuisances")) if nuisances else set()
    if not named:
        return {}
    fronts = _fronts(named)
    plans = [(front, *_changes(named - set(REMEDIES[front].against))) for front in fronts]
    alone = [(fronts[0],)] if fronts else []
    alone += [(name,) for name in _single_changes(named, by_itself=not fronts)]
    full = plans or [_changes(named)]
    wanted = list(dict.fromkeys([*alone, *full]))
    if conditions:
        wanted += [("balanced",), *(("balanced", *plan) for plan in full[:2])]
    return dict(map(_joined, wanted))


def _fronts(named: set[str]) -> list[str]:
    """What can take a part of these off the inputs and nothing else, the fullest first."""
    found = ["standardise"] if "gain" in named else []
    found += ["envelope"] if {"gain", "colour"} <= named else []
    found += ["high-pass"] if "drift" in named else []
    found += ["AC coupling"] if "offset" in named and not {"gain", "drift"} & named else []
    found += ["tone filter"] if "tones" in named else []
    return found


def _changes(named: set[str]) -> tuple[str, ...]:
    """The changes of batches for these, at most two."""
    found = dict.fromkeys(change for name, change in _CHANGES.items() if name in named)
    return tuple(found)[:_MOST_CHANGES]


def _single_changes(named: set[str], *, by_itself: bool) -> list[str]:
    """Changes that answer all of these, or one of them if no front answers any; and nothing else but offset and drift."""
    found = []
    for name, one in REMEDIES.items():
        if one.change is None or one.pooling is not None or not one.against:
            continue
        answered = named & set(one.against)
        enough = bool(answered) if by_itself else answered == named
        if enough and set(one.against) - named <= {"offset", "drift"}:
            found.append(name)
    return found


def _joined(pieces: tuple[str, ...]) -> tuple[str, Remedy]:
    """The remedy of these pieces, and its name."""
    if len(pieces) == 1:
        return pieces[0], REMEDIES[pieces[0]]
    known = [REMEDIES[piece] for piece in pieces]
    makers = tuple(one.change for one in known if one.change is not None)
    change: ChangeMaker | None = None
    if makers:
        change = makers[0] if len(makers) == 1 else partial(_chained, makers)
    front = next((piece for piece in pieces if REMEDIES[piece].front is not None), None)
    remedy = Remedy(
        sentence=f"Joins {', '.join(pieces[:-1])} and {pieces[-1]}.",
        front=None if front is None else REMEDIES[front].front,
        front_name=front,
        change=change,
        balanced=any(one.balanced for one in known),
        against=nuisances_of([name for one in known for name in one.against]),
        judged_on="+".join(dict.fromkeys(one.judged_on for one in known if one.judged_on)) or None,
        usual=False,
    )
    return " + ".join(_SHORT.get(piece, piece) for piece in pieces), remedy


def _chained(
    makers: tuple[ChangeMaker, ...],
    *,
    generator: torch.Generator | None = None,
    channels_first: bool = False,
) -> Augmentation:
    changes = [cast(Augmentation, maker()) for maker in makers]
    return Chain(changes, generator=generator, channels_first=channels_first)
