"""On a GPU nothing here may wait for a number: every operator whose result the host must see is counted, on the CPU."""

import inspect
from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import crest.readouts.fast
from crest.readouts import READOUTS, CrestReadout
from crest.readouts.base import Readout

B, T, D = 8, 64, 8
# The size of what these give depends on values, or they hand a value to Python: a GPU has to finish first.
WAITS = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "equal", "is_nonzero", "bincount")


class Waits(TorchDispatchMode):
    """Counts the operators for which a host waits."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        flags = name in ("index", "index_put", "index_put_") and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        if name in WAITS or flags:
            self.counts[name] += 1
        return func(*args, **(kwargs or {}))


def waits(readout: Readout, *, masked: bool) -> Counter[str]:
    """What forward and backward wait for, on the path that a GPU takes."""
    features = torch.randn(B, T, D, generator=torch.Generator().manual_seed(0)).requires_grad_()
    mask = None
    if masked:
        mask = torch.ones(B, T, dtype=torch.bool)
        mask[0, 40:] = False
    with crest.readouts.fast.backend("torch"), Waits() as found:
        readout(features, mask).sum().backward()
    return found.counts


def made(name: str, **options: Any) -> Readout:
    kind = READOUTS[name]
    return kind(width=D, **options) if "width" in inspect.signature(kind).parameters else kind(**options)


def test_the_counter_sees_what_waits() -> None:
    with Waits() as found:
        numbers = torch.arange(4.0)
        assert float(numbers.sum()) == 6.0
        assert len(numbers[numbers > 1]) == 2
        numbers.nonzero()
    assert found.counts == {"_local_scalar_dense": 1, "index": 1, "nonzero": 1}


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crest.readouts.crest.free_to_ask", lambda values: False)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", READOUTS)
def test_without_checks_of_values_nothing_waits(name: str, training: bool, masked: bool) -> None:
    assert waits(made(name, validate=False).train(training), masked=masked) == {}


@pytest.mark.parametrize("budget", ["pooled", "trajectory", 0.1])
def test_no_budget_waits(budget: str | float) -> None:
    for training in (True, False):
        assert waits(CrestReadout(budget, validate=False).train(training), masked=True) == {}


@pytest.mark.parametrize("name", READOUTS)
def test_the_check_of_values_waits_once_and_crest_asks_for_a_run_up(name: str) -> None:
    assert waits(made(name), masked=True) == {"_local_scalar_dense": 2 if name == "crest" else 1}
