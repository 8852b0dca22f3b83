"""The schema of records: the annotations of their dataclasses, by which plain values of JSON are checked and turned into them.

No library does it, because none takes the classes as they are. msgspec and pydantic ignore unknown fields of dataclasses unless these are written for
them, and most of ours are the product's, which needs torch and NumPy only. cattrs makes a number of "5" where it should refuse it. beartype, which the tests
have, looks at one random element of a list.
"""

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from crest.lab.runs.spec import RunSpec

_Reader = Callable[[Any], Any]

# What every reader of numbers can hold, ours included; JSON has no limit.
_LARGEST = 2**63 - 1
# Names, versions and commits: what is longer is none of them.
_LONGEST = 10_000


class SchemaError(ValueError):
    """A value that its schema does not allow, and the names that lead to it."""

    def __init__(self, words: str, place: str = "") -> None:
        super().__init__(f"{place or 'it'} {words}")
        self.words = words
        self.place = place

    def below(self, name: str | int) -> "SchemaError":
        """The same, seen from the mapping or the list that holds it under this name."""
        return SchemaError(self.words, f"{name}.{self.place}" if self.place else str(name))


def restored(kind: Any, value: Any) -> Any:
    """The value of this type that was written as plain values: JSON has lists for tuples, and mappings for dataclasses.

    Raises:
        SchemaError: Something in it is not what the annotations say. The message names it.

    Example:
        >>> from crest.lab.evaluation import Score
        >>> restored(dict[str, Score], {"id": {"id": 0.1, "ood": 0.4}})
        {'id': Score(id=0.1, ood=0.4)}
        >>> restored(dict[str, Score], {"id": {"id": 0.1, "ood": "0.4"}})
        Traceback (most recent call last):
        crest.lab.runs.schema.SchemaError: id.ood must be a finite number, got '0.4'
    """
    return _reader(kind)(value)


# Made once for each type: a report reads thousands of records.
@functools.cache
def _reader(kind: Any) -> _Reader:
    if kind in _LEAVES:
        return _LEAVES[kind]
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _of_fields(kind)
    origin, kinds = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, types.UnionType) and kinds[1:] == (types.NoneType,):
        return _or_none(kinds[0])
    if origin in (dict, Mapping) and kinds[0] is str:
        return _of_mapping(kinds[1])
    if origin in (list, tuple):
        return _of_list(kinds[0]) if origin is list else _of_tuple(kinds)
    raise TypeError(f"no record may have a field of type {kind}")


def _refuse(rule: str, value: Any) -> NoReturn:
    text = repr(value) if isinstance(value, str | int | float | None) else ""
    raise SchemaError(f"must be {rule}, got {text if 0 < len(text) <= 60 else type(value).__name__}")


def _number(value: Any) -> Any:
    # A switch is a number for Python.
    if type(value) is float:
        if math.isfinite(value):
            return value
    elif type(value) is int and abs(value) <= _LARGEST:
        return value
    _refuse("a finite number", value)


def _whole(value: Any) -> Any:
    return value if type(value) is int and abs(value) <= _LARGEST else _refuse("a whole number", value)


def _text(value: Any) -> Any:
    if type(value) is not str:
        _refuse("text", value)
    if len(value) > _LONGEST:
        raise SchemaError(f"must be text of at most {_LONGEST} characters, got {len(value)}")
    return value


def _anything(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError):
        _refuse("plain finite values", value)
    return value


# A spec checks itself.
_LEAVES: dict[Any, _Reader] = {
    float: _number,
    int: _whole,
    str: _text,
    Any: _anything,
    RunSpec: RunSpec.from_dict,
}


def _or_none(kind: Any) -> _Reader:
    inside = _reader(kind)
    return lambda value: None if value is None else inside(value)


def _of_fields(kind: Any) -> _Reader:
    readers = {name: _reader(hint) for name, hint in typing.get_type_hints(kind).items()}
    fields = dataclasses.fields(kind)
    needed = {field.name for field in fields if field.default is field.default_factory is dataclasses.MISSING}

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            _refuse("a mapping of fields", value)
        if unknown := value.keys() - readers.keys():
            told = ", ".join(sorted(map(str, unknown))[:5])
            raise SchemaError(f"has {told}, which this version of crest does not know")
        if missing := needed - value.keys():
            raise SchemaError(f"has no {', '.join(sorted(missing))}")
        return kind(**_each(readers.__getitem__, value))

    return read


def _of_mapping(kind: Any) -> _Reader:
    inside = _reader(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping) or not all(type(name) is str for name in value):
            _refuse("a mapping", value)
        return _each(lambda _: inside, value)

    return read


def _each(reader: Callable[[str], _Reader], value: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, part in value.items():
        try:
            found[name] = reader(name)(part)
        except SchemaError as error:
            raise error.below(name) from error
    return found


def _of_list(kind: Any) -> _Reader:
    inside = _reader(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            _refuse("a list", value)
        # Traces have a hundred thousand numbers, which are looked at without a call for each.
        if kind is float and set(map(type, value)) <= {float} and all(map(math.isfinite, value)):
            return list(value)
        found = []
        for place, part in enumerate(value):
            try:
                found.append(inside(part))
            except SchemaError as error:
                raise error.below(place) from error
        return found

    return read


def _of_tuple(kinds: tuple[Any, ...]) -> _Reader:
    # (X, ...) or one type in all places.
    inside = _of_list(kinds[0])
    count = None if kinds[-1] is ... else len(kinds)

    def read(value: Any) -> Any:
        found = tuple(inside(value))
        if count is not None and len(found) != count:
            raise SchemaError(f"must be a list of {count}, got {len(found)}")
        return found

    return read
