"""Trajectories that belong together, such as the windows of one recording: who they are, as numbers."""

from typing import Any

import torch
from torch import Tensor

from crest.exchange.ties import condition_names


def groups_of(groups: Any, trajectories: int | None, *, first: int | None = None) -> Tensor:
    """Whole numbers from 0 for the groups (N,); a ValueError unless they name two or more.

    Args:
        groups: (N,), anything that names the group of each trajectory.
        trajectories: N; as many as there are groups if it is None.
        first: how many are numbered, the first ones; all by default.

    Example:
        >>> groups_of(["pump 2", "pump 1", "pump 2"], 3)
        tensor([0, 1, 0])
    """
    try:
        given = condition_names(groups, trajectories)
    except ValueError as error:
        raise ValueError(str(error).replace("conditions", "groups").replace("condition", "group")) from error
    names = given[:first]
    kinds = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if len(kinds) < 2 <= len(set(given)):
        raise ValueError(
            f"groups must name two groups or more among the first {len(names)} of {len(given)} trajectories, got {names[0]!r} for each "
            "of them. Pass exchange=crest.ExchangeSettings(trajectories=...) to look at more"
        )
    if len(kinds) < 2:
        raise ValueError(f"groups must name two groups or more, got {names[0]!r} for every trajectory")
    return torch.tensor([kinds[name] for name in names])
