"""Every public callable, with one argument that is wrong: a value comes back, or an error that names the argument.

The callables are found by looking at what the package exports, so a new one is tried as soon as it is there, and has
to be given valid arguments in `doors_made`. `make fuzz` tries more.
"""

import dataclasses
import inspect
import os
import re
import signal
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from doors_made import ABSTRACT, MORE, RESULTS, WRONG, Door, doors, fits, public, reads

# The wrappers that check shapes would answer before a door can.
pytestmark = pytest.mark.unchecked

FEW = 25
EXAMPLES = int(os.environ.get("CREST_FUZZ", FEW))
"""Random values that every door is given beside the listed ones; `make fuzz` raises it, and draws others each time."""
SECONDS = 10


class Hung(BaseException):
    """A call that takes far longer than its arguments are worth."""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Door]:
    return {door.name: door for door in doors(tmp_path_factory.mktemp("doors"))}


@pytest.fixture
def _alarm() -> Iterator[None]:
    def rings(number: int, frame: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, rings)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


NAMES = sorted(public())
FORWARD = [
    f"{name}.forward" for name in NAMES if hasattr(public()[name], "forward") and name != "CreditInEvent"
]


def named(message: str, door: Door, value: object) -> bool:
    """Whether the message has one of the door's arguments, in the singular too, or quotes the value."""
    # What a batch consists of has names of its own.
    names = [*door.valid, *(("inputs", "targets") if "batches" in door.valid else ())]
    words = {word for name in names for word in (name, name.removesuffix("s"))}
    if any(re.search(rf"(?<![A-Za-z_]){word}(?![A-Za-z_])", message) for word in words):
        return True
    if f"got {value!r}" in message:
        return True
    quoted = list(value) if isinstance(value, dict | list | tuple) else [value]
    # A door may name a path's folder or its last part; an empty path is the folder here.
    paths = [Path(one) for one in quoted if isinstance(one, str | Path)]
    quoted += [part for path in paths for part in (path, path.parent, path.name)]
    return any(
        isinstance(one, str | Path) and str(one) and ascii(str(one))[1:-1] in message for one in quoted
    )


def excused(door: Door, argument: str, value: object) -> bool:
    """What is not for a door to judge."""
    # A function's own errors are its owner's; what it returns is looked at, as `lambda *_: None` shows.
    return callable(value) and callable(door.valid[argument]) and getattr(value, "__name__", "") != "<lambda>"


def trouble(door: Door, argument: str, value: Any) -> str | None:
    """What is wrong with the answer of a door, if anything is."""
    if excused(door, argument, value):
        return None
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            door.enter(**{**door.valid, argument: value})
    except (ValueError, TypeError, FileNotFoundError) as error:
        if named(str(error), door, value):
            return None
        return f"{argument} = {value!r:.80}: {type(error).__name__} names no argument: {error}"
    except Exception as error:
        # A function's own errors are its owner's.
        if traceback.extract_tb(error.__traceback__)[-1].name in (reads.__name__, fits.__name__):
            return None
        return f"{argument} = {value!r:.80}: {type(error).__name__}: {error}"
    except Hung:
        return f"{argument} = {value!r:.80}: no answer in {SECONDS} s"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def test_every_public_callable_is_tried(known: dict[str, Door]) -> None:
    assert set(known) == {*NAMES, *FORWARD}
    assert len(known) > 100
    # Whoever is left out exists, and is left out by name.
    assert not (RESULTS | ABSTRACT) & set(NAMES)
    assert set(MORE) <= set(NAMES)


@pytest.mark.parametrize("name", [*NAMES, *FORWARD])
def test_the_valid_arguments_are_valid(name: str, known: dict[str, Door]) -> None:
    known[name].enter(**known[name].valid)


@pytest.mark.usefixtures("_alarm")
@pytest.mark.parametrize("name", [*NAMES, *FORWARD])
def test_one_wrong_argument_gives_a_value_or_an_error_that_names_it(
    name: str, known: dict[str, Door]
) -> None:
    door = known[name]
    found = [trouble(door, argument, make()) for argument in door.valid for make in WRONG.values()]
    assert [one for one in found if one] == []


# Nothing in between: a width of 10**10 is a wish that would be granted.
WHOLE = st.one_of(st.integers(-70, 70), st.sampled_from([2**63, -(2**64), 2**70]))
NUMBERS = st.one_of(WHOLE, st.floats(), st.booleans(), st.complex_numbers(max_magnitude=1e9))
DTYPES = st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, np.complex64])
ARRAYS = DTYPES.flatmap(
    lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=4, max_side=4))
)
ATOMS = st.one_of(
    st.none(), NUMBERS, st.text(max_size=8), st.binary(max_size=8), ARRAYS, ARRAYS.map(torch.as_tensor)
)
ANYTHING = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=4), inner, max_size=3),
    ),
    max_leaves=4,
)


@pytest.mark.usefixtures("_alarm")
def test_any_argument_gives_a_value_or_an_error_that_names_it(known: dict[str, Door]) -> None:
    @given(value=ANYTHING, data=st.data())
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=EXAMPLES == FEW,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def every_door(value: Any, data: st.DataObject) -> None:
        for door in known.values():
            argument = data.draw(st.sampled_from(sorted(door.valid)))
            found = trouble(door, argument, value)
            assert found is None, f"{door.name}: {found}"

    every_door()


def test_a_recordings_door_takes_twelve_arguments_at_most() -> None:
    """More are grouped into an object, as `RecordingOptions` is; a class of settings may have as many as it needs."""
    doors = {
        name: enter
        for name, enter in public().items()
        if enter.__module__.startswith(("crest.recordings", "crest.probes"))
    }
    counts = {
        name: len(inspect.signature(enter).parameters)
        for name, enter in doors.items()
        if not dataclasses.is_dataclass(enter)
    }
    assert len(counts) > 20
    assert {name: count for name, count in counts.items() if count > 12} == {}
