"""What `repaired.json` holds, read back: exchange tests and what the rule said."""

import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from crest._base.plain_json import read_json
from crest._repair.saving import NUMBERS
from crest.exchange.candidates import Choice, JudgedCandidate
from crest.exchange.result import Exchange
from crest.exchange.sensitivity import Sensitivity

NOT_READABLE = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""What a file raises that holds something else."""


def read_numbers(folder: Path) -> dict[str, Any]:
    """The JSON that `Repaired.save` wrote into this folder."""
    path = folder / NUMBERS
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist: Repaired.save writes it beside the weights, and Repaired.load needs both"
        )
    try:
        return dict(read_json(path.read_text()))
    except NOT_READABLE as error:
        raise ValueError(f"{path} is not what Repaired.save wrote: {error}") from error


def read_exchange(saved: Mapping[str, Any]) -> Exchange:
    """An exchange test from its fields, where NaN is None and tuples are lists.

    Example:
        >>> interval = [None, None]
        >>> read_exchange({"transient": None, "background": None, "interaction": None, "transient_interval": interval,
        ...                "background_interval": interval, "interaction_interval": interval, "background_alone": 0.0,
        ...                "kind": "core", "trajectories": 8}).varies
        False
    """
    found = _read(Exchange, saved)
    found["nuisances"] = {
        name: Sensitivity(**_read(Sensitivity, row)) for name, row in saved.get("nuisances", {}).items()
    }
    together = saved.get("together")
    found["together"] = None if together is None else Sensitivity(**_read(Sensitivity, together))
    found["invariant"] = tuple(saved.get("invariant", ()))
    return Exchange(**found)


# Fields that are None if something is not known; all others are numbers, and None stands for NaN.
_UNKNOWN = {"constant_error", "exchanged_error", "error", "error_interval"}


def _read(kind: type, saved: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for one in fields(kind):
        if one.name not in saved:
            continue
        value = saved[one.name]
        if isinstance(value, list):
            value = tuple(math.nan if part is None else part for part in value)
        found[one.name] = math.nan if value is None and one.name not in _UNKNOWN else value
    return found


def read_choice(numbers: Mapping[str, Any], exchanges: Mapping[str, Exchange]) -> Choice:
    """What the rule said, from the JSON of a repair.

    Args:
        numbers: as `read_numbers` gives them.
        exchanges: the test of each candidate.
    """
    rows = numbers["candidates"]
    even = all(row["even_error"] is not None for row in rows.values())
    return Choice(
        name=numbers["chosen"],
        reason=numbers["reason"],
        by="conditions" if even else "exchange",
        lowest_error=min(rows, key=lambda name: rows[name]["id_error"]),
        candidates={
            name: JudgedCandidate(
                id_error=row["id_error"],
                exchange=exchanges[name],
                better=row["better"],
                reason=row["reason"],
                even_error=row["even_error"],
                other_error=row.get("other_error"),
            )
            for name, row in rows.items()
        },
    )
