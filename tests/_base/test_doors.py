"""The kinds that annotations stand for, and that a door changes nothing else."""

import dataclasses
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn
from typing_extensions import TypeAliasType

from crest._base.arrays import Features, StepFlags
from crest._base.doors import door, door_leaving, kind_of
from crest._base.floats import Numbers


class Pair(NamedTuple):
    first: int
    second: int


# Annotation, words, what passes, what does not.
KINDS = [
    (int, "a number", [1, -3, 2.5, np.int64(4), True, math.nan], [None, "1", 1j, [1], 2**70, np.ones(1)]),
    (float, "a number", [1, 2.5, np.float32(1), math.inf], [None, "1", torch.ones(()), -(2**64)]),
    (bool, "True or False", [True, False], [None, 0, 1, "yes"]),
    (str, "text", ["", "a"], [None, b"a", 1, ["a"]]),
    (str | None, "text or None", ["a", None], [1]),
    (Tensor, "a torch tensor", [torch.ones(2), nn.Parameter(torch.ones(2))], [None, [1.0], np.ones(2)]),
    (Features, "a torch tensor", [torch.ones(2)], [None, [1.0]]),
    (StepFlags | None, "a torch tensor or None", [None, torch.ones(2)], [True]),
    (npt.NDArray[np.float64], "an array", [np.ones(2)], [None, [1.0], torch.ones(2)]),
    (Numbers, "a number, a list (each a number) or an array", [1, [1, 2.5], (1,), np.ones(2)], [None, "1", ["a"]]),
    (TypeAliasType("MaybeNumber", float | None), "a number or None", [1.5, None], ["1"]),
    (Literal["auto"] | int, "'auto' or a number", ["auto", "other", 3], [None, b"auto"]),
    (Callable[[Tensor], Tensor], "callable", [len, lambda: 0, nn.ReLU()], [None, "len"]),
    (Mapping[str, float], "a mapping (each a number)", [{}, {"a": 1}], [None, [], {"a": "b"}]),
    (Sequence[str], "a list (each text)", [[], ["a"], ("a", "b")], ["ab", None, {"a"}, [1]]),
    (tuple[float, ...], "a list (each a number)", [(), (1, 2, 3), [1]], ["ab", None, ("a",)]),
    (tuple[int, str], "a list of 2", [(1, "a"), [1, "a"]], [(1,), (1, 2), ("a", "b"), None]),
    (Iterable[Hashable], "a list (each a Hashable)", [[1], {1}, iter([1]), torch.ones(2)], [None, 1, "ab", [[]]]),
    (Pair, "a Pair", [Pair(1, 2)], [(1, 2), None]),
    (Path | str, "a Path or text", [Path(), ""], [None, b""]),
    (torch.Generator | None, "a Generator or None", [None, torch.Generator()], [0, np.random.default_rng()]),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "words", "good", "bad"), KINDS, ids=[str(kind[1]) for kind in KINDS])
def test_the_kind_of_an_annotation(hint: Any, words: str, good: list[Any], bad: list[Any]) -> None:
    kind = kind_of(hint)
    assert kind is not None
    assert kind.words.startswith(words)
    assert [value for value in good if not kind.allows(value)] == []
    assert [value for value in bad if kind.allows(value)] == []


@pytest.mark.parametrize("hint", [Any, object, Any | None, "Later", int | Any])
def test_what_may_be_anything_has_no_kind(hint: Any) -> None:
    assert kind_of(hint) is None


@door
def mixed(first: int, *rest: str, last: float = 1.0, **options: Any) -> tuple[Any, ...]:
    """What it was given."""
    return first, rest, last, options


def test_arguments_by_place_and_by_name_are_told_apart() -> None:
    assert mixed(1, "a", "b", last=2, more="c") == (1, ("a", "b"), 2, {"more": "c"})
    for call, message in {
        lambda: mixed("1"): "first must be a number, got '1'",
        lambda: mixed(1, "a", 2): "rest must be text, got 2",
        lambda: mixed(1, last=[1]): "last must be a number, got list",
        lambda: mixed(first=None): "first must be a number, got None",
    }.items():
        with pytest.raises(ValueError, match=f"^{message}$"):
            call()
    with pytest.raises(TypeError, match="first"):
        mixed()


def test_a_door_keeps_name_signature_and_words() -> None:
    assert mixed.__name__ == "mixed"
    assert mixed.__doc__ == "What it was given."
    assert list(inspect.signature(mixed).parameters) == ["first", "rest", "last", "options"]


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class Value:
    size: int = 1
    names: tuple[str, ...] = ()


@door
class Parent:
    def __init__(self, size: int) -> None:
        self.size = size


@door
class Child(Parent):
    pass


def test_classes_have_doors_too() -> None:
    assert dataclasses.replace(Value(size=3), names=("a",)) == Value(size=3, names=("a",))
    assert list(inspect.signature(Value).parameters) == ["size", "names"]
    assert list(inspect.signature(Child).parameters) == ["size"]
    assert Child(2).size == 2
    with pytest.raises(ValueError, match=r"^names must be a list \(each text\), got 3$"):
        Value(names=3)
    for kind in (Parent, Child):
        with pytest.raises(ValueError, match=r"^size must be a number, got None$"):
            kind(None)


def test_an_argument_can_be_left_to_what_is_behind() -> None:
    @door_leaving("first", second="be positive")
    def both(first: int, second: float, third: int = 0) -> tuple[Any, ...]:
        return first, second, third

    assert both("a", 1.0) == ("a", 1.0, 0)
    with pytest.raises(ValueError, match=r"^second must be positive, got -1$"):
        both(1, -1)
    with pytest.raises(ValueError, match=r"^second must be a number, got None$"):
        both(1, second=None)
    with pytest.raises(ValueError, match=r"^third must be a number, got 'b'$"):
        both(1, 1, "b")


@pytest.mark.unchecked
def test_a_door_is_not_there_in_a_graph() -> None:
    @door
    def doubled(values: Tensor, times: float = 2.0) -> Tensor:
        return values * times

    class Doubled(nn.Module):
        def forward(self, values: Tensor) -> Tensor:
            return doubled(values, times=2.0)

    values = torch.arange(3.0)
    assert torch.equal(torch.compile(Doubled(), fullgraph=True, backend="eager")(values), 2 * values)
    program = torch.export.export(Doubled(), (values,), dynamic_shapes=({0: torch.export.Dim("B", min=2)},))
    assert torch.equal(program.module()(torch.arange(5.0)), 2 * torch.arange(5.0))


def test_more_arguments_by_place_than_there_are_places_are_told_by_name() -> None:
    @door
    def joined(first: str, second: str, *, third: str = "") -> str:
        return first + second + third

    @door
    class Reader:
        def __init__(self, model: str, batches: object, *, seed: int = 0) -> None:
            self.held = (model, batches, seed)

    with pytest.raises(
        TypeError, match=r"joined\(\) takes first and second by place, got 3; others need their names$"
    ):
        joined("a", "b", "c")
    message = r"Reader\(\) takes model and batches by place, got 3; others need their names. Inputs and targets are one: \(x, y\)$"
    with pytest.raises(TypeError, match=message):
        Reader("a", "x", "y")
