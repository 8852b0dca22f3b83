"""Remedies as an axis of runs: how a spec spells those of `crest.remedies.REMEDIES`, and what is made of it."""

import functools
from typing import Any

from crest._base.arguments import require_choice
from crest.remedies import CONTROL, REMEDIES, Augmentation, Remedy


class NoRemedy:
    """The model and its batches as they are."""


def _piece(remedy: Remedy) -> tuple[type, dict[str, Any]] | None:
    """What a run must be told of: the class of the front or of the change of batches, and its options."""
    found = remedy.front or remedy.change
    if not isinstance(found, functools.partial) or not isinstance(found.func, type):
        # CREST is a readout of the run, and what is re-anchored has no run of its own.
        return None
    return found.func, dict(found.keywords)


def _file(piece: type) -> str:
    """The name of the file that has the class, by which specs call it."""
    return piece.__module__.rpartition(".")[2]


RUN_REMEDIES: dict[str, type] = {
    "none": NoRemedy,
    **{_file(piece[0]): piece[0] for piece in map(_piece, REMEDIES.values()) if piece is not None},
}
"""What the field `remedy` of a spec may say; `remedy_options` are the arguments of the class."""


RUN_FRONTS: dict[str, type] = {
    name: piece for name, piece in RUN_REMEDIES.items() if not issubclass(piece, Augmentation)
}
"""What the field `front` of a spec may say, beside a remedy that changes batches; a front alone is the run's remedy."""


def run_fields(name: str) -> dict[str, Any]:
    """The fields by which a run spells a remedy.

    Example:
        >>> run_fields("AC coupling"), run_fields("CREST")["remedy"]
        ({'remedy': 'high_pass', 'remedy_options': {'kind': 'level'}}, 'none')
    """
    piece, options = _piece(REMEDIES[name]) or (NoRemedy, {})
    return {"remedy": "none" if piece is NoRemedy else _file(piece), "remedy_options": options}


def fronted_fields(front: str, remedy: str) -> dict[str, Any]:
    """The fields by which a run spells a remedy behind a front, both names of `REMEDIES`; a front alone is spelled as a remedy.

    Example:
        >>> fronted_fields("standardise", CONTROL) == run_fields("standardise")
        True
        >>> fronted_fields("standardise", "exchange")["front"]
        'standardise'
    """
    before, beside = run_fields(front), run_fields(remedy)
    if beside["remedy"] == "none":
        return before
    return (
        beside
        if front == CONTROL
        else {**beside, **{key.replace("remedy", "front"): before[key] for key in before}}
    )


def make_remedy(name: str, **options: Any) -> Remedy:
    """The remedy that a run spells so.

    Example:
        >>> make_remedy("high_pass", kind="level").front()
        HighPass('level')
    """
    require_choice("remedy", name, RUN_REMEDIES)
    piece = RUN_REMEDIES[name]
    # Options are refused when a spec is written, not when it is run.
    piece(**options)
    if piece is NoRemedy:
        return REMEDIES[CONTROL]
    maker = functools.partial(piece, **options)
    return Remedy(change=maker) if issubclass(piece, Augmentation) else Remedy(front=maker)
