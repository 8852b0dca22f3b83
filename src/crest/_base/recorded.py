"""Trajectories as `crest.recordings` loads them, seen by who stands before that room: by their attributes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Recorded(NamedTuple):
    """What loaded trajectories know about themselves."""

    x: Tensor
    """(N, T, C), float32."""
    y: Tensor
    """(N,): numbers in float32, or the numbers of classes in int64."""
    classes: tuple[str, ...]
    """Their names; none if labels are numbers."""
    events: Tensor | None
    """(N, T), if they are known."""
    channels: tuple[str, ...]
    """Names of the channels."""
    sample_rate: float | None
    """Steps per second; None if these are no recordings, whose time may have another unit."""
    names: tuple[str, ...]
    """File, start and condition of each; none if they are not known."""
    groups: list[Any] | None
    """What each is a part of: its group, or else its recording; None if each is alone, or all are of one."""
    labels: Tensor
    """(N,): the same as y, but numbers as in the table, if a shift and a scale standardised them."""
    columns: Mapping[str, Any]
    """What else is known of each, by name; of all of them, also after `spread`."""

    def named_conditions(self, given: Any) -> Any:
        """The column of this name if a name is given; else what is given."""
        if not isinstance(given, str):
            return given
        if given not in self.columns:
            raise ValueError(
                f"conditions must name a column of extra, one of {', '.join(self.columns)}, got {given!r}"
            )
        return {given: list(self.columns[given].tolist())}

    def spread(self, most: int) -> "tuple[Recorded, Tensor]":
        """At most `most` of them, spread evenly over all, since they come file by file; and their places."""
        count = len(self.x)
        rows = torch.linspace(0, count - 1, min(most, count), dtype=torch.float64).round().long()
        places = rows.tolist()
        return self._replace(
            x=self.x[rows],
            y=self.y[rows],
            labels=self.labels[rows],
            events=None if self.events is None else self.events[rows],
            names=tuple(self.names[place] for place in places) if self.names else (),
            groups=_telling(None if self.groups is None else [self.groups[place] for place in places]),
        ), rows


def recorded(brought: Any) -> Recorded | None:
    """What loaded trajectories know; None for anything else.

    Example:
        >>> recorded(torch.zeros(2, 5, 1)) is None
        True
    """
    # By name: the room of recordings stands behind the doors that ask.
    kinds = type(brought).__mro__
    if not any(kind.__name__ == "Trajectories" and kind.__module__.startswith("crest.") for kind in kinds):
        return None
    x, y, events, _ = brought.tensors()
    together = (brought.extra[name].tolist() for name in ("group", "recording") if name in brought.extra)
    return Recorded(
        x=x,
        y=y.long() if brought.classes else y,
        classes=tuple(brought.classes),
        events=events,
        channels=tuple(brought.channels),
        sample_rate=None if brought.options is None else brought.sample_rate,
        names=tuple(brought.names),
        groups=_telling(next(together, None)),
        labels=table_labels(brought),
        columns=_columns(brought),
    )


def table_labels(brought: Any) -> Tensor:
    """Labels (N,) of loaded trajectories as the table has them: a shift and a scale that the options know are undone."""
    y: Tensor = torch.as_tensor(brought.y)
    if brought.classes:
        return y.long()
    if brought.options is not None:
        y = y * brought.options.label_scale + brought.options.label_mean
    elif "label" in brought.extra:
        y = torch.as_tensor(brought.extra["label"])
    return y.float()


def _columns(brought: Any) -> dict[str, Any]:
    """The arrays of `extra`; a single condition also by the name that its column has in the table."""
    names: list[str] = [] if brought.options is None else list(brought.options.conditions)
    own = {names[0]: brought.extra["condition"]} if len(names) == 1 and "condition" in brought.extra else {}
    return {**own, **brought.extra}


def _telling(groups: list[Any] | None) -> list[Any] | None:
    """The groups, if there are several, and something in common in one of them."""
    return None if groups is None or len(set(groups)) in (1, len(groups)) else groups
