"""Strangers' models of every kind through every door that asks a model: nothing is left behind, also after an error.

A model here may keep a state, work in place, follow its batch, set global states, fail at any call, and be wrapped in any way.
Everything that can be compared is compared before and after: weights, buffers, parts, hooks, modes, gradients, the data, the random
states, and how torch computes. `make fuzz` tries more models.
"""

import os
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import crest
from crest.exchange.conditions import errors_by_condition

# The wrappers that check shapes draw from Python's generator.
pytestmark = [pytest.mark.unchecked, pytest.mark.slow]

FEW = 15
EXAMPLES = int(os.environ.get("CREST_FUZZ_MODELS", FEW))
"""Random models for each door; `make fuzz` raises it, and draws others each time."""
EXCHANGE = crest.ExchangeSettings(trajectories=8, block=4, bootstrap=5)
X = torch.randn(12, 2, 40, generator=torch.Generator().manual_seed(1000))
Y = X.mean((1, 2))


class BrokenError(RuntimeError):
    """What a model raises at the call that was drawn."""


@dataclass(frozen=True, kw_only=True)
class Oddity:
    """What is odd about a model."""

    state: str = "none"
    world: str = "none"
    wrap: str = "none"
    dtype: torch.dtype = torch.float32
    fails_at: int = 0
    in_place: bool = False
    batch: bool = False
    training: bool = False
    frozen: bool = False
    graded: bool = False


class Odd(nn.Module):
    """A small network that does what is odd about it in `forward`."""

    def __init__(self, odd: Oddity) -> None:
        super().__init__()
        self.odd, self.calls = odd, [0]
        self.features = nn.Conv1d(2, 3, 5)
        self.norm = nn.BatchNorm1d(3)
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(3, 1)
        self.register_buffer("mean", torch.zeros(3))
        self.count, self.last, self.seen = 0, torch.zeros(1), list[Any]()

    def forward(self, x: Tensor) -> Tensor:
        odd = self.odd
        # Behind what is put back: it counts all calls of a door.
        CALLS.append(len(x))
        if len(CALLS) == odd.fails_at:
            raise BrokenError("at this call")
        WORLDS[odd.world]()
        if odd.in_place:
            x.mul_(1.5)
        if odd.batch:
            x = x - x.mean(0)
        hidden = self.norm(self.features(x)).relu()
        STATES[odd.state](self, hidden)
        found: Tensor = self.head(self.pool(hidden).flatten(1))
        return found


CALLS: list[int] = []


def _counts(model: Odd, _: Tensor) -> None:
    model.count += 1
    model.seen.append(model.count)


def _averages(model: Odd, hidden: Tensor) -> None:
    model.mean.mul_(0.9).add_(0.1 * hidden.detach().mean((0, 2)))


def _replaces(model: Odd, hidden: Tensor) -> None:
    model.mean = hidden.detach().mean((0, 2))
    model.last = hidden.detach()


def _makes(model: Odd, _: Tensor) -> None:
    if not hasattr(model, "late"):
        model.late = nn.Linear(3, 3)
        model.late.register_forward_hook(lambda *_: None)


def _learns(model: Odd, hidden: Tensor) -> None:
    with torch.enable_grad():
        model.head(hidden.detach().mean(2)).sum().backward()


def _trains(model: Odd, hidden: Tensor) -> None:
    model.norm.train()(hidden.detach())


STATES: dict[str, Callable[[Odd, Tensor], object]] = {
    "none": lambda *_: None,
    "counter": _counts,
    "buffer": _averages,
    "buffer anew": _replaces,
    "late module": _makes,
    "gradients": _learns,
    "normalisation in training": _trains,
    "weights": lambda model, _: model.features.weight.data.mul_(1.0 + 1e-7),
    "hook": lambda model, _: model.features.register_forward_hook(lambda *_: None),
    "frozen": lambda model, _: model.features.requires_grad_(False),
}
WORLDS: dict[str, Callable[[], object]] = {
    "none": lambda: None,
    "grad mode": lambda: torch.set_grad_enabled(True),
    "default dtype": lambda: torch.set_default_dtype(torch.float64),
    "threads": lambda: torch.set_num_threads(2),
    "deterministic": lambda: torch.use_deterministic_algorithms(True),
    "random": lambda: (torch.rand(1), np.random.rand(), random.random()),
    "seeds": lambda: (torch.manual_seed(3), np.random.seed(3), random.seed(3)),
}


def made(odd: Oddity) -> nn.Module:
    """The model that a door is given."""
    torch.manual_seed(0)
    model = Odd(odd)
    if odd.graded:
        model.head(torch.ones(2, 3)).sum().backward()
    model.to(odd.dtype).train(odd.training)
    if odd.frozen:
        model.norm.eval()
        model.features.requires_grad_(False)
    if odd.wrap == "in a module":
        return nn.Sequential(model).train(odd.training)
    if odd.wrap == "scripted part":
        model.pool = torch.jit.script(model.pool)
    return model


def compared(model: nn.Module) -> list[str]:
    """Everything that can be compared, as text."""
    tensors = [*model.state_dict().items(), *((f"grad {n}", p.grad) for n, p in model.named_parameters())]
    parts = [part for part in model.modules() if not isinstance(part, torch.jit.ScriptModule)]
    own = [one for one in model.modules() if isinstance(one, Odd)]
    return [
        *(f"{name}: {None if one is None else (one.dtype, one.tolist())}" for name, one in tensors),
        *(f"{name} wants a gradient: {one.requires_grad}" for name, one in model.named_parameters()),
        *(f"{name}: {type(part).__name__}, {part.training}" for name, part in model.named_modules()),
        *(f"hooks: {list(part._forward_hooks)}, {list(part._forward_pre_hooks)}" for part in parts),
        *(f"plain: {one.count}, {one.last.tolist()}, {one.seen}, {sorted(vars(one))}" for one in own),
        *world(),
    ]


def world() -> list[str]:
    return [
        f"torch: {hash(tuple(torch.get_rng_state().tolist()))}",
        f"NumPy: {hash(tuple(np.random.get_state()[1].tolist()))}",
        f"Python: {hash(random.getstate())}",
        f"grad mode: {torch.is_grad_enabled()}",
        f"default dtype: {torch.get_default_dtype()}",
        f"threads: {torch.get_num_threads()}",
        f"deterministic: {torch.are_deterministic_algorithms_enabled()}",
    ]


def watch(model: Any, x: Tensor, y: Tensor) -> None:
    watching = crest.Watch(model, (x, y), exchange=EXCHANGE)
    watching(0)


def fit(model: nn.Module, batches: Any) -> None:
    for x, y in batches:
        x.mul_(1.0 + 1e-3)
        y.add_(1.0)
        model(x)


def repaired(model: Any, x: Tensor, y: Tensor) -> None:
    crest.repair(
        model,
        [(x, y)],
        validation=[(x, y)],
        fit=fit,
        remedies=["AC coupling", "re-anchored"],
        exchange=EXCHANGE,
    )


DOORS: dict[str, Callable[[Any, Tensor, Tensor], object]] = {
    "audit": lambda model, x, y: crest.audit(model, (x, y), exchange=EXCHANGE),
    "Watch": watch,
    "repair": repaired,
    "exchange_test": lambda model, x, y: crest.exchange_test(model, x, targets=y, exchange=EXCHANGE),
    # Refused behind the call of the model: the layer at this path does not pool.
    "replace_pooling": lambda model, x, y: crest.replace_pooling(
        model, _path(model, "head"), crest.CrestReadout(), sample=(x, y)
    ),
}


def _path(model: nn.Module, name: str) -> str:
    return next(path for path, _ in model.named_modules() if path.rpartition(".")[2] == name)


ODD = st.builds(
    Oddity,
    state=st.sampled_from(sorted(STATES)),
    world=st.sampled_from(sorted(WORLDS)),
    wrap=st.sampled_from(["none", "in a module", "scripted part"]),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    fails_at=st.sampled_from([0, 0, 1, 2, 3, 4, 5, 8, 13, 20]),
    in_place=st.booleans(),
    batch=st.sampled_from([False, False, True]),
    training=st.booleans(),
    frozen=st.booleans(),
    graded=st.booleans(),
)


def trouble(name: str, odd: Oddity) -> str | None:
    """What a door left behind or got wrong, if anything."""
    model = made(odd)
    x, y = X.to(odd.dtype), Y.to(odd.dtype)
    before, data = compared(model), (x.clone(), y.clone())
    CALLS.clear()
    refused: Exception | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            DOORS[name](model, x, y)
    except (ValueError, BrokenError) as error:
        refused = error
    finally:
        after = compared(model)
        # Whatever a door left would be blamed on the next model too.
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(False)
    if before != after:
        changed = [f"{old} -> {new}" for old, new in zip(before, after, strict=False) if old != new]
        return f"it changed: {changed[:3] or (len(before), len(after))}"
    if not (torch.equal(x, data[0]) and torch.equal(y, data[1])):
        return "the data changed"
    # In bfloat16 it may drown in rounding.
    if odd.batch and odd.dtype != torch.bfloat16 and name != "replace_pooling" and refused is None:
        return "a prediction that follows its batch got a verdict"
    return None


@pytest.mark.parametrize("name", DOORS)
def test_a_model_is_left_as_it_was(name: str) -> None:
    @given(odd=ODD)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=EXAMPLES == FEW,
        database=None,
        # Small as they are: what fails is shown as it was drawn.
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    def every_model(odd: Oddity) -> None:
        found = trouble(name, odd)
        assert found is None, found

    # Each oddity by itself, whatever is drawn.
    for state in STATES:
        every_model = example(Oddity(state=state, training=True, graded=True))(every_model)
    for one in WORLDS:
        every_model = example(Oddity(world=one, in_place=True))(every_model)
    every_model = example(Oddity(batch=True))(every_model)
    every_model()


def squared(got: Tensor, wanted: Tensor) -> Tensor:
    return (got.reshape(len(wanted)) - wanted).square().mean()


def squared_in_place(got: Tensor, wanted: Tensor) -> Tensor:
    found = got.reshape(len(wanted)).sub_(wanted).square_().mean()
    got.zero_()
    wanted.zero_()
    return found


def level(x: Tensor) -> Tensor:
    return x.mean((1, 2))


WINDOWS, WANTED, PLACES = X.transpose(1, 2).contiguous(), Y + 0.1, [0, 1, 0, 2] * 3
MEASURED: dict[str, Callable[[Callable[[Tensor, Tensor], Tensor]], Any]] = {
    "audit": lambda error: crest.audit(
        level, (WINDOWS, WANTED), error=error, exchange=EXCHANGE, conditions=PLACES
    ).to_dict(),
    "watch": lambda error: crest.Watch(
        level, (WINDOWS, WANTED), error=error, exchange=EXCHANGE
    )(0),
    "exchange_test": lambda error: crest.exchange_test(
        level, WINDOWS, targets=WANTED, error=error, exchange=EXCHANGE
    ),
    "choose": lambda error: crest.choose(
        {"one": (level, 0.1), "two": (lambda x: x[:, 3, 0], 0.2)},
        WINDOWS, targets=WANTED, conditions=PLACES, error=error, exchange=EXCHANGE,
    ),
    "errors_by_condition": lambda error: errors_by_condition(level, WINDOWS, WANTED, PLACES, error=error),
    "repair": lambda error: {
        name: (one.id_error, one.exchange, one.field_error)
        for name, one in crest.repair(
            Odd(Oddity()).eval(), [(X, Y)], validation=[(X, WANTED)], field=(X, WANTED), remedies=["re-anchored"],
            error=error, exchange=EXCHANGE,
        ).candidates.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("door", MEASURED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_error_that_works_in_place_changes_neither_the_data_nor_what_is_measured(door: str) -> None:
    kept = WINDOWS.clone(), WANTED.clone(), X.clone()

    def measured(error: Callable[[Tensor, Tensor], Tensor]) -> str:
        torch.manual_seed(0)
        return repr(MEASURED[door](error))

    plain = measured(squared)
    assert measured(squared_in_place) == plain
    for now, before in zip((WINDOWS, WANTED, X), kept, strict=True):
        assert torch.equal(now, before)


@pytest.mark.parametrize("output", [0, ("logits", 1), "logits", None])
def test_a_function_that_works_in_place_leaves_the_data_whatever_output_is_asked_about(output: Any) -> None:
    x, labels = WINDOWS.clone(), (WINDOWS[:, :2, 0] > 0).long()

    def in_place(x: Tensor) -> Any:
        found = x.mul_(2.0)[:, :2, 0]
        return {"logits": found} if isinstance(output, tuple | str) else found

    crest.exchange_test(in_place, x, targets=labels, output=output, exchange=EXCHANGE)
    crest.audit(in_place, (x, labels), channels_first=False, output=output, exchange=EXCHANGE)
    assert torch.equal(x, WINDOWS)
