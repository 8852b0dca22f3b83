"""Readouts: features (B, T, D) [+ mask (B, T)] -> pooled (B, D). To add one: a file, a line here, a test."""

import inspect
from typing import Any

from crest._base.arguments import require_choice, require_known
from crest._base.doors import door, door_leaving
from crest.readouts.attention import AttentionReadout
from crest.readouts.base import EventReadout, Readout
from crest.readouts.config import CrestConfig
from crest.readouts.conjunctive import ConjunctiveReadout
from crest.readouts.crest import Core, CrestReadout
from crest.readouts.event_window import EventWindowReadout
from crest.readouts.gated_attention import GatedAttentionReadout
from crest.readouts.last import LastReadout
from crest.readouts.max import MaxReadout
from crest.readouts.mean import MeanReadout
from crest.readouts.registers import RegistersReadout
from crest.readouts.scored_attention import ScoredAttentionReadout
from crest.readouts.signal_budget import signal_budget
from crest.readouts.windowed import WindowedReadout

READOUTS: dict[str, type[Readout]] = {
    "mean": MeanReadout,
    "last": LastReadout,
    "max": MaxReadout,
    "attention": AttentionReadout,
    "scored_attention": ScoredAttentionReadout,
    "gated_attention": GatedAttentionReadout,
    "registers": RegistersReadout,
    "windowed": WindowedReadout,
    "conjunctive": ConjunctiveReadout,
    "crest": CrestReadout,
}
"""Label-free readouts by name."""

REFERENCES: dict[str, type[EventReadout]] = {"event_window": EventWindowReadout}
"""Readouts that see the events: references, never competitors."""

for _public in (Readout, EventReadout, CrestConfig, *READOUTS.values(), *REFERENCES.values()):
    door_leaving("config", hidden="be a whole number, 1 or more")(_public)


@door
def make_readout(name: str, width: int, **options: Any) -> Readout | EventReadout:
    """The readout of that name for features with `width` channels.

    Args:
        name: a key of `READOUTS` or `REFERENCES`.
        width: number of feature channels D; only readouts with weights use it.
        **options: the readout's own keyword arguments.

    Example:
        >>> make_readout("windowed", 32, window=16).window
        16
    """
    choices: dict[str, type[Readout] | type[EventReadout]] = {**READOUTS, **REFERENCES}
    require_choice("name", name, choices)
    known = dict(inspect.signature(choices[name]).parameters)
    if "width" in known:
        options["width"] = width
    require_known(name, "option", options, known)
    return choices[name](**options)


__all__ = [
    "READOUTS",
    "REFERENCES",
    "AttentionReadout",
    "ConjunctiveReadout",
    "Core",
    "CrestConfig",
    "CrestReadout",
    "EventReadout",
    "EventWindowReadout",
    "GatedAttentionReadout",
    "LastReadout",
    "MaxReadout",
    "MeanReadout",
    "Readout",
    "RegistersReadout",
    "ScoredAttentionReadout",
    "WindowedReadout",
    "make_readout",
    "signal_budget",
]
