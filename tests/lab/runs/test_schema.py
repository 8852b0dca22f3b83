"""Records by their schema: what it allows comes back, and one wrong value anywhere is refused by its name."""

import copy
import dataclasses
import json
import re
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from crest.lab.evaluation import Score
from crest.lab.runs.record import Record
from crest.lab.runs.schema import SchemaError, restored
from crest.lab.runs.spec import RunSpec
from sweeping import tiny

SPEC = tiny(seed=1000)
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=4)
LARGEST = 2**63 - 1


def allowed(kind: Any) -> st.SearchStrategy[Any]:
    """Plain values that an annotation allows, as JSON has them."""
    origin, kinds = typing.get_origin(kind), typing.get_args(kind)
    if kind is RunSpec:
        return st.just(SPEC.to_dict())
    if kind is float:
        # An error is 0 or more.
        return st.floats(0, 1e6) | st.integers(0, LARGEST)
    if kind is int:
        return st.integers(0, LARGEST)
    if kind is str:
        return NAMES
    if kind is Any:
        return st.none() | NAMES | st.lists(st.integers(-9, 9), max_size=2)
    if isinstance(kind, types.UnionType):
        return st.none() | allowed(kinds[0])
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return st.fixed_dictionaries({name: allowed(hint) for name, hint in hints.items()})
    if origin in (dict, Mapping):
        return st.dictionaries(NAMES, allowed(kinds[1]), max_size=2)
    if origin is tuple and kinds[-1] is not ...:
        return st.tuples(*map(allowed, kinds)).map(list)
    return st.lists(allowed(kinds[0]), max_size=3)


# Cut into its fields: the parts of a whole record would be too many for one draw.
FIELDS = {name: hint for name, hint in typing.get_type_hints(Record).items() if name not in ("id", "spec")}
SMALLEST: dict[str, Any] = {
    "id": SPEC.id, "spec": SPEC.to_dict(), "resolved": {}, "score": {"id": 0.1, "ood": 0.2}, "credit": {}, "budget": {},
    "losses": [], "looks": [], "deletion": {}, "saliency": None, "traces": None, "seconds": {}, "peak_memory": 1.0,
    "versions": {}, "commit": None,
}  # fmt: skip


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("field", FIELDS)
@given(data=st.data())
def test_what_the_schema_allows_comes_back(field: str, data: st.DataObject) -> None:
    value = data.draw(allowed(FIELDS[field]))
    found = Record.from_dict({**SMALLEST, field: value})
    again = json.loads(found.to_json())
    assert again[field] == value
    assert Record.from_dict(again) == found


def places(kind: Any, value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value in a value, with its annotation; what may be anything is left out, and the spec checks itself."""
    kinds = typing.get_args(kind)
    if kind in (Any, RunSpec):
        return
    yield path, kind
    if isinstance(kind, types.UnionType):
        if value is not None:
            yield from list(places(kinds[0], value, path))[1:]
    elif dataclasses.is_dataclass(kind):
        for name, hint in typing.get_type_hints(kind).items():
            yield from places(hint, value[name], (*path, name))
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from places(kinds[1], part, (*path, name))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from places(kinds[0], part, (*path, number))


JUNK: list[Any] = [
    None, True, "x", "5", 5, 0.5, -1, 10**400, float("inf"), float("nan"), [], [1], [[]], ["x"], {}, {"a": 1}, {"x": None},
]  # fmt: skip


def is_allowed(kind: Any, value: Any) -> bool:
    """The slow and plain second opinion."""
    origin, kinds = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        return value is None or is_allowed(kinds[0], value)
    if kind in (int, float):
        number = isinstance(value, int) or (kind is float and isinstance(value, float))
        return number and not isinstance(value, bool) and -LARGEST <= value <= LARGEST
    if kind in (str, Any):
        return kind is Any or isinstance(value, str)
    if dataclasses.is_dataclass(kind):
        return False
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(is_allowed(kinds[1], part) for part in value.values())
    fits = isinstance(value, list) and all(is_allowed(kinds[0], part) for part in value)
    return fits and (origin is list or kinds[-1] is ... or len(value) == len(kinds))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@pytest.mark.parametrize("field", FIELDS)
@given(data=st.data(), junk=st.sampled_from(JUNK))
def test_one_wrong_value_is_refused_by_its_name(field: str, data: st.DataObject, junk: Any) -> None:
    value = data.draw(allowed(FIELDS[field]))
    path, kind = data.draw(st.sampled_from(list(places(FIELDS[field], value, (field,)))))
    assume(not is_allowed(kind, junk))
    fields = copy.deepcopy({**SMALLEST, field: value})
    inside: Any = fields
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = copy.deepcopy(junk)
    with pytest.raises(SchemaError) as caught:
        Record.from_dict(fields)
    assert str(caught.value).startswith(".".join(map(str, path)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"losses": "x"}, "losses must be a list, got 'x'"),
        ({"seconds": 5}, "seconds must be a mapping, got 5"),
        ({"resolved": None}, "resolved must be a mapping, got None"),
        ({"resolved": {"a": [float("inf")]}}, "resolved.a must be plain finite values, got list"),
        ({"versions": [1]}, "versions must be a mapping, got list"),
        ({"commit": {}}, "commit must be text, got dict"),
        ({"id": 5}, "id must be text, got 5"),
        ({"looks": [{"epoch": 1.5, "score": {"id": 0, "ood": 0}, "credit": None}]}, "looks.0.epoch must be a whole number"),
        ({"deletion": {"random": {"fractions": [0.0, "a"], "errors": []}}}, "deletion.random.fractions.1 must be a finite"),
        ({"exchange": {"transient": 1}}, "exchange has no background, background_alone, interaction"),
        ({"score": 0.5}, "score must be a mapping of fields, got 0.5"),
    ],
)  # fmt: skip
def test_junk_that_was_read_once_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Record.from_dict({**SMALLEST, **change})


def test_a_type_that_no_reader_knows_is_told_to_whoever_adds_it() -> None:
    with pytest.raises(TypeError, match="no record may have a field of type"):
        restored(set[int], [])


def test_numbers_keep_their_kind() -> None:
    assert restored(tuple[float, ...], [1, 2.5]) == (1, 2.5)
    assert repr(restored(Score, {"id": 1, "ood": 2.0})) == "Score(id=1, ood=2.0)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": {"a": -5}}, "seconds.a must be 0 or more, got -5"),
        ({"peak_memory": -1}, "peak_memory must be 0 or more, got -1"),
        (
            {"looks": [{"epoch": -1, "score": {"id": 0.1, "ood": 0.1}, "credit": None}]},
            "epoch must be a whole number, 0 or more, got -1",
        ),
        ({"commit": "a" * 10**6}, "commit must be text of at most 10000 characters, got 1000000"),
        ({"versions": {"torch": "a" * 10**6}}, "versions.torch must be text of at most 10000 characters"),
        ({"spec": {}}, "spec must have every field without a default, got none for"),
        ({"spec": {**SPEC.to_dict(), "sizes": {"a": 1}}}, "sizes has no field a"),
        ({"spec": {**SPEC.to_dict(), "schedule": {"a": 1}}}, "schedule has no field a"),
        ({"spec": {**SPEC.to_dict(), "measures": 5}}, "measures must be a list of names, got 5"),
    ],
)
def test_numbers_below_zero_long_texts_and_parts_of_specs_are_refused(
    change: dict[str, Any], message: str
) -> None:
    Record.from_dict(SMALLEST)
    with pytest.raises(ValueError, match=re.escape(message)):
        Record.from_dict({**SMALLEST, **change})
