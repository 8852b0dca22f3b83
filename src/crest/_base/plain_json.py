"""JSON of others: one value for each name, finite numbers, and never so deep that the reader ends."""

import collections
import json
from typing import Any, NoReturn


def read_json(content: str | bytes) -> Any:
    """The plain values that a text of JSON holds.

    Raises:
        ValueError: It is no JSON, nests too deep, has NaN or infinity, or one name twice in a mapping: of two values, readers
            take the last, and people see the first.

    Example:
        >>> read_json('{"a": [1, 2.5]}')
        {'a': [1, 2.5]}
        >>> read_json('{"a": 1, "a": 2}')
        Traceback (most recent call last):
        ValueError: it has 'a' twice
    """
    try:
        return json.loads(content, parse_constant=_no_number, object_pairs_hook=_own_names)
    except RecursionError as error:
        raise ValueError("it nests too deep") from error


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"it holds {text}, which is no number of JSON")


def _own_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((name, _),) = collections.Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"it has {name!r} twice")
    return found
