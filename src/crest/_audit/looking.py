"""What an audit sees inside of a model: the pooling interface, its readings, and their credit against known events."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from crest._audit.readings import Readings, readings
from crest._base.arrays import EventMask
from crest._base.tensors import as_flags
from crest.probes.credit import credit_of_scores
from crest.probes.rates import events_at
from crest.probes.result import CreditMeans
from crest.strangers.batch import Batch
from crest.strangers.interface import Interface, InterfaceError, find_interface
from crest.strangers.model import StrangerModel

_WITHOUT = "pass features= and head= to name them, or features=False to audit without them"


def known_events(events: Any, batch: Batch, notes: list[str]) -> EventMask | None:
    """The events of the trajectories as booleans (N, T) on the CPU; None if they are not known.

    Args:
        events: (N, T) or more rows, of which the first are taken; booleans, or the integers 0 and 1.
        batch: what the model is asked about.
        notes: a line is added to these if there is no event among them.
    """
    if events is None:
        return None
    try:
        flags = events if isinstance(events, Tensor) else torch.as_tensor(np.asarray(events))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"events must be booleans or the integers 0 and 1, got {type(events).__name__}"
        ) from error
    if flags.ndim != 2 or len(flags) < len(batch.signals) or flags.shape[1] != batch.signals.shape[1]:
        raise ValueError(
            f"events must have shape (N, T) = {tuple(batch.signals.shape[:2])}, those of the inputs, got {tuple(flags.shape)}"
        )
    found = as_flags("events", flags[: len(batch.signals)], batch.signals).cpu()
    if not bool((found & batch.valid.cpu()).any()):
        notes.append(f"events hold no event in the {len(found)} trajectories: nothing is compared with them")
    return found


def looked_into(
    stranger: StrangerModel, batch: Batch, features: str | None, head: str | None, notes: list[str]
) -> tuple[Interface | None, Readings | None]:
    """Where features and pooled vector are, and what they show; neither if they are not found and were not asked for.

    Args:
        stranger: any module, in evaluation mode.
        batch: what it is asked about.
        features: name of the module that gives the features, if it is known.
        head: name of the module that reads the pooled vector, if it is known.
        notes: what was assumed is added to these.
    """
    try:
        interface = find_interface(stranger, batch, features=features, head=head)
    except InterfaceError as unknown:
        if features is not None or head is not None:
            raise InterfaceError(f"{unknown}; {_WITHOUT}") from unknown
        notes.append(f"the pooling interface was not found: {unknown}; {_WITHOUT}")
        return None, None
    notes.append(f"pooling interface: {interface}")
    read = readings(stranger, batch, interface)
    if interface.token:
        notes.append("the first feature step is a token that the head reads; it was left out")
    return interface, read


def credit_at(read: Readings, events: EventMask) -> CreditMeans | None:
    """CiE@1, ECM and Prec@|E| of the readings against events (N, T) at the steps of the inputs; None if there is no event."""
    return credit_of_scores(read.scores, events_at(events, read.scores.shape[1]), read.mask).averages()
