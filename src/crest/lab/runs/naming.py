"""What names a run, and the rule by which the package grows without renaming one.

The id of a run is a hash of everything that determines its numbers, defaults included. So whatever is added later,
a field of the spec, a keyword of a readout, a parameter of a simulator, would rename every record that was published
before. Hence the rule: **what is new declares a neutral value here, at which it does what was done before it came,
and is left out of the hash at that value.** What cannot change a number never enters the hash.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

NEUTRAL: dict[str, dict[str, Any]] = {
    "AttentionEncoder": {"positions": "sinusoidal", "final_norm": False},
    "CrestReadout": {"background": "slow", "run_up": 0, "stride": 1},
    "CwruSystem": {"standardized": False, "size_classes": False},
    "GearSystem": {"threshold": None},
    "HighPass": {"validate": True},
    "ImpactSystem": {"threshold": None},
    "RecordingOptions": {
        "start": None, "stop": None, "split": None, "group": None, "scale": 1.0, "unit": "", "standardise": None,
        "label_mean": 0.0, "label_scale": 1.0,
    },
    "RunSpec": {"remedy": "none", "remedy_options": {}, "front": "none", "front_options": {}},
}  # fmt: skip
"""The neutral value of each parameter that came after the first published records, by class and name.

`{"CrestReadout": {"background": "slow"}, "RunSpec": {"remedy": "none"}}`, with plain values as JSON has them. A line
is never removed, and its value never changes: the ids of published records depend on it.
"""

FORMER: dict[str, dict[str, Any]] = {
    "ExchangeBackground": {"donors": "random"},
    "RunSpec": {"keep": "last"},
}
"""Parameters that are gone, by class and name, with the one value that published records have of them.

The published ids were made with them, so they stay in the hash.
"""

INERT: dict[str, Any] = {"validate": True}
"""Parameters that cannot change a number, by name, with what the first published ids have in their place.

They stand there for ever, whatever a run was given.
"""

WITHOUT_EFFECT: frozenset[str] = frozenset({"place", "table"})
"""Parameters that cannot change a number and came later, by name: no id has them, at any value.

Where an encoder's file and a table of recordings lie is no part of a name; what they hold is.
"""


def naming(owner: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a class that take part in the name of a run: without those at their neutral value.

    Example:
        >>> from crest.readouts import MeanReadout
        >>> naming(MeanReadout, {"validate": False})
        {'validate': True}
    """
    neutral: dict[str, Any] = {}
    for ancestor in reversed(owner.__mro__):
        neutral |= NEUTRAL.get(ancestor.__name__, {})
    return FORMER.get(owner.__name__, {}) | {
        name: INERT.get(name, value)
        for name, value in values.items()
        if name not in WITHOUT_EFFECT
        # Compared as JSON: in Python False is 0 and 1 is 1.0.
        and (name not in neutral or canonical_json(INERT.get(name, value)) != canonical_json(neutral[name]))
    }


def digest(parts: Mapping[str, Any]) -> str:
    """Ten hexadecimal digits that name these plain values.

    Example:
        >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
        True
    """
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:10]


def canonical_json(value: Any) -> str:
    """The one way to write plain values down; NaN and infinity are refused."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain_copy(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the values as JSON has them: the caller may go on using theirs.

    Example:
        >>> plain_copy("options", {"ood": ("fast",)})
        {'ood': ['fast']}
    """
    try:
        copy: dict[str, Any] = json.loads(json.dumps(dict(values), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be plain values, as JSON has them: {error}") from error
    return copy
