"""Remedies as an axis of runs: how a spec spells those of `crest.remedies.REMEDIES`, and what is made of it."""

import functools
from typing import Any

from crest._base.arguments import require_choice
from crest.remedies import CONTROL, REMEDIES, Augmentation, Remedy


class NoRemedy:
    """The model and its batches as they are."""


def _piece(remedy: Remedy) -> functools.partial[Any] | None:
    """What a run must be told of: a class for the front or for the batches, with its options. CREST is a readout there."""
    found = remedy.front or remedy.change
    return found if isinstance(found, functools.partial) else None


def _file(piece: functools.partial[Any]) -> str:
    """The name of the file that has the class, which is the class' name in specs."""
    return str(piece.func.__module__).rpartition(".")[2]


RUN_REMEDIES: dict[str, type] = {
    "none": NoRemedy,
    **{_file(piece): piece.func for one in REMEDIES.values() if (piece := _piece(one)) is not None},
}
"""What the field `remedy` of a spec may say; `remedy_options` are the arguments of the class."""


def run_fields(name: str) -> dict[str, Any]:
    """The fields by which a run spells a remedy.

    Example:
        >>> run_fields("AC coupling"), run_fields("CREST")["remedy"]
        ({'remedy': 'high_pass', 'remedy_options': {'kind': 'level'}}, 'none')
    """
    piece = _piece(REMEDIES[name])
    if piece is None:
        return {"remedy": "none", "remedy_options": {}}
    return {"remedy": _file(piece), "remedy_options": dict(piece.keywords)}


def make_remedy(name: str, **options: Any) -> Remedy:
    """The remedy that a run spells so.

    Example:
        >>> make_remedy("high_pass", kind="level").front()
        HighPass('level')
    """
    require_choice("remedy", name, RUN_REMEDIES)
    piece = functools.partial(RUN_REMEDIES[name], **options)
    # Options are refused when a spec is written, not when it is run.
    piece()
    if name == "none":
        return REMEDIES[CONTROL]
    return Remedy(change=piece) if issubclass(piece.func, Augmentation) else Remedy(front=piece)
