"""One policy for the numbers that a door takes: finite at valid steps, real, and in a plain tensor.

Doors are found by looking, as in `test_public_doors`; the argument that holds signals is found by its name.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import crest
from crest._base.tensors import largest_signal
from doors_made import Door, doors, public

# The wrappers that check shapes would answer before a door can.
pytestmark = pytest.mark.unchecked

SIGNALS = ("signals", "features", "inputs", "x", "donors", "chunk")
# No signals: a question about a tensor's kind, and cosines, which are NaN for NaN.
WITHOUT = {"serves", "step_scores"}
NOT_REAL = (torch.bool, torch.complex64, torch.int64)
PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "sparse": lambda x: x.to_sparse(),
    "sparse rows": lambda x: x.reshape(-1, x.shape[-1]).to_sparse_csr(),
    "nested": lambda x: torch.nested.nested_tensor([*x]),
    "jagged": lambda x: torch.nested.nested_tensor([*x], layout=torch.jagged),
    "quantised": lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.quint8),
    "float8": lambda x: x.float().to(torch.float8_e4m3fn),
    "meta": lambda x: x.to("meta"),
    "another float8": lambda x: x.float().to(torch.float8_e5m2),
}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Door]:
    return {door.name: door for door in doors(tmp_path_factory.mktemp("doors"))}


def held_by(door: Door) -> list[str]:
    """The arguments of a door that are signals (B, T, C)."""
    return [
        name for name in SIGNALS if isinstance(door.valid.get(name), Tensor) and door.valid[name].ndim == 3
    ]


def doors_for_signals(known: dict[str, Door]) -> list[Door]:
    return [door for name, door in known.items() if name not in WITHOUT and held_by(door)]


def test_doors_for_signals_are_found(known: dict[str, Door]) -> None:
    found = {door.name for door in doors_for_signals(known)}
    assert {
        "transient_core",
        "HighPass.forward",
        "exchange_background",
        "periodic",
        "CrestReadout.forward",
    } <= found
    assert len(found) > 35


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_every_door_refuses_what_is_not_finite_and_says_where(number: float, known: dict[str, Door]) -> None:
    silent = []
    for door in doors_for_signals(known):
        for argument in held_by(door):
            spoiled = door.valid[argument].clone()
            spoiled[2, 5, 1] = number
            try:
                door.enter(**{**door.valid, argument: spoiled})
            except ValueError as error:
                if "finite" in str(error) and "row 2, step 5, channel 1" in str(error):
                    continue
                silent.append(f"{door.name}: {error}")
            else:
                silent.append(f"{door.name} took it")
    assert silent == []


def tensors_in(found: object) -> list[Tensor]:
    """Tensors that a door gave back, alone or in a tuple."""
    if isinstance(found, Tensor):
        return [found]
    return [one for part in found for one in tensors_in(part)] if isinstance(found, tuple | list) else []


LARGE = [
    (torch.float32, 9e11), (torch.float32, 1e20), (torch.float32, 1e30), (torch.float32, 3e38), (torch.float64, 9e11),
    (torch.float64, 1e308), (torch.float16, 16e3), (torch.float16, 6e4), (torch.bfloat16, 9e11), (torch.bfloat16, 3e38),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("dtype", "size"), LARGE)
def test_finite_signals_give_finite_numbers_or_are_refused_by_their_size(
    dtype: torch.dtype, size: float, known: dict[str, Door]
) -> None:
    """Up to `largest_signal` every door works; beyond it a filter refuses, and a readout, which scales first, may work."""
    wrong = []
    for door in doors_for_signals(known):
        for argument in held_by(door):
            values = door.valid[argument].double()
            large = (values / values.abs().max() * size).to(dtype)
            try:
                found = door.enter(**{**door.valid, argument: large})
            except ValueError as error:
                told = f"{argument} must hold numbers of at most" in str(error) and size > largest_signal(
                    dtype
                )
                other = dtype != door.valid[argument].dtype and "dtype" in str(error)
                wrong += [] if told or other else [f"{door.name}, {argument}: {error}"]
            except Exception as error:
                wrong.append(f"{door.name}, {argument}: {type(error).__name__} {error}"[:200])
            else:
                if not all(one.isfinite().all() for one in tensors_in(found) if one.is_floating_point()):
                    wrong.append(f"{door.name}, {argument}: not finite")
    assert wrong == []


@pytest.mark.filterwarnings("ignore")
def test_what_stands_on_padding_does_not_matter(known: dict[str, Door]) -> None:
    refused = []
    for door in doors_for_signals(known):
        # A function that is asked about padding reads it, and a trace is drawn of all steps.
        if not isinstance(door.valid.get("mask"), Tensor) or {"function", "predictions"} & set(door.valid):
            continue
        for argument in set(held_by(door)) - {"donors"}:
            spoiled = door.valid[argument].clone()
            spoiled[:, 20:] = math.nan
            try:
                found = door.enter(**{**door.valid, argument: spoiled})
            except ValueError as error:
                refused.append(f"{door.name}: {error}")
            else:
                valid = found[:, :20] if isinstance(found, Tensor) and found.shape[1:2] == (24,) else found
                if isinstance(valid, Tensor) and not valid.isfinite().all():
                    refused.append(f"{door.name} spreads it")
    assert refused == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", NOT_REAL, ids=str)
def test_every_door_refuses_signals_that_are_no_real_numbers(
    dtype: torch.dtype, known: dict[str, Door]
) -> None:
    silent = []
    for door in doors_for_signals(known):
        if door.name == "cues" and dtype == torch.int64:
            continue  # counts of an instrument are numbers to read a target from
        for argument in held_by(door):
            try:
                door.enter(**{**door.valid, argument: door.valid[argument].to(dtype)})
            except ValueError as error:
                if argument in str(error) and str(dtype) in str(error):
                    continue
                silent.append(f"{door.name}: {error}")
            else:
                silent.append(f"{door.name} took it")
    assert silent == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", PLAIN)
def test_every_door_refuses_other_kinds_of_tensors_by_name(kind: str, known: dict[str, Door]) -> None:
    """Whatever the argument: signals, flags, scores, targets."""
    silent, tried = [], 0
    for door in known.values():
        for argument, value in door.valid.items():
            if door.name in WITHOUT - {"step_scores"} or not isinstance(value, Tensor) or not value.ndim:
                continue
            try:
                given = PLAIN[kind](value)
            except (RuntimeError, TypeError):
                continue  # torch makes no such tensor of this one
            tried += 1
            try:
                door.enter(**{**door.valid, argument: given})
            except ValueError as error:
                if argument in str(error):
                    continue
                silent.append(f"{door.name}, {argument}: {error}")
            except Exception as error:
                silent.append(f"{door.name}, {argument}: {type(error).__name__} {error}"[:200])
            else:
                silent.append(f"{door.name}, {argument} took it")
    assert silent == []
    assert tried > 60


def test_a_front_on_the_hot_path_takes_signals_on_trust() -> None:
    x = torch.randn(2, 100, 1)
    x[1, 3] = math.nan
    fronts: list[Any] = [crest.HighPass, crest.Standardise, crest.Whiten, crest.Envelope]
    for front in fronts:
        with pytest.raises(ValueError, match="row 1, step 3, channel 0"):
            front()(x)
        assert front(validate=False)(x)[0].isfinite().all()
    assert len(public()) > 90
