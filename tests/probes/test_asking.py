"""A model that is asked keeps nothing, and predicts for each trajectory alone."""

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import crest
from crest.probes.asking import (
    ChangedSignalsError,
    asked_about,
    quietly,
    require_predictions,
    require_repeatable,
)

X = torch.randn(40, 20, 1, generator=torch.Generator().manual_seed(1000))


def mean(x: Tensor) -> Tensor:
    return x.mean((1, 2))


def test_global_states_and_the_module_are_as_before_also_after_an_error() -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(20)).train()
    before = [value.clone() for value in model.state_dict().values()]
    states = (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist())

    def unruly() -> None:
        assert not model.training
        assert not torch.is_grad_enabled()
        model[1].train()(X)
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True)
        raise ZeroDivisionError(f"{torch.rand(1)} {random.random()} {np.random.random()}")

    with pytest.raises(ZeroDivisionError), quietly(model):
        unruly()
    assert model.training
    assert all(torch.equal(a, b) for a, b in zip(before, model.state_dict().values(), strict=True))
    assert (torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()) == states
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 24, 64])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 40])
def test_a_mean_over_the_batch_is_refused_at_any_batch_size_and_number(size: int, count: int) -> None:
    require_repeatable(mean, [X], size)
    with pytest.raises(ValueError, match=r"^model must .* whatever else is in its batch, got others for"):
        require_repeatable(lambda x: mean(x - x.mean(0)), [X[:count]], size, "model")


def after(x: Tensor) -> Tensor:
    """A number for each trajectory that no other has."""
    return mean(x.cumsum(1))


DEPENDS: dict[str, Callable[[Tensor], Tensor]] = {
    "pairs": lambda x: after(x) + 0.5 * after(x).roll(1, 0),
    "first": lambda x: after(x) - after(x)[:1],
    "place": lambda x: after(x) + torch.arange(len(x)),
    "median": lambda x: after(x - x.median(0).values),
    "softmax": lambda x: after(x).softmax(0),
    "odd": lambda x: after(x) + len(x) % 2,
    "alone": lambda x: after(x) + (len(x) == 1),
    "many": lambda x: after(x) + (len(x) > 20),
}


@pytest.mark.parametrize("depends", DEPENDS.values(), ids=DEPENDS)
def test_whatever_of_the_batch_is_followed_is_refused(depends: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(ValueError, match="whatever else is in its batch"):
        require_repeatable(depends, [X], 64)


@pytest.mark.parametrize("only", [1, 2, 4, 32])
def test_a_model_of_one_batch_size_is_asked_about_no_other(only: int) -> None:
    def fixed(x: Tensor) -> Tensor:
        assert len(x) == only
        return mean(x)

    require_repeatable(fixed, [X], only)
    if only > 1:
        with pytest.raises(ValueError, match="whatever else is in its batch"):
            require_repeatable(lambda x: fixed(x - x.mean(0)), [X], only)


def test_no_memory_left_is_told() -> None:
    def hungry(x: Tensor) -> Tensor:
        if len(x) < 32:
            raise MemoryError
        return mean(x)

    with pytest.raises(MemoryError):
        require_repeatable(hungry, [X], 64)


@pytest.mark.parametrize(
    "settings", [{"batch_size": 1}, {"batch_size": 2}, {"batch_size": 3}, {"trajectories": 2}, {}]
)
def test_every_door_refuses_what_follows_its_batch_also_of_few(settings: dict[str, int]) -> None:
    exchange = crest.ExchangeSettings(block=2, bootstrap=5, **settings)
    x = X if settings else X[:2]
    for ask in (
        lambda function: crest.exchange_test(function, x, exchange=exchange),
        lambda function: crest.audit(function, x, exchange=exchange),
        lambda function: crest.Watch(function, x, exchange=exchange),
    ):
        with pytest.raises(ValueError, match="whatever else is in its batch"):
            ask(lambda x: after(x - x.mean(0)))


def test_nan_on_signals_as_they_are_is_not_blamed_on_exchanged_ones() -> None:
    """Of trajectory 35, which is not among the first that are asked about twice."""
    x = X.clone()
    x[35] = 7

    def lost(x: Tensor) -> Tensor:
        return torch.where((x == 7).all(1)[:, 0], torch.nan, mean(x))

    for function, wanted in ((lost, "1 NaN .* trajectory 35"), (lambda x: mean(x) * torch.nan, "40 NaN")):
        with pytest.raises(
            ValueError, match=f"^the function's predictions must be finite, got {wanted}"
        ) as told:
            crest.exchange_test(function, x)
        assert not isinstance(told.value, ChangedSignalsError)


def test_what_changes_from_call_to_call_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^function must give the same prediction .* dropout"):
        require_repeatable(lambda x: mean(nn.functional.dropout(x)), [X], 64)


def test_a_few_that_flip_are_a_warning() -> None:
    """Rounding turns a step that decides by a threshold, now and then."""

    def flips(x: Tensor) -> Tensor:
        found = mean(x)
        found[x[:, 0, 0] == X[0, 0, 0]] += len(x) == 32  # of the first 32, asked about at once
        return found

    with pytest.warns(UserWarning, match=r"^function should give .* got others for 1 of 32 trajectories"):
        require_repeatable(flips, [X], 64)


def test_a_small_effect_of_the_batch_is_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"^function should give .* got others for 32 of 32 trajectories"):
        require_repeatable(lambda x: mean(x) + 0.01 * mean(X).std() * len(x) / 32, [X], 64)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_rounding_is_no_other_prediction(dtype: torch.dtype) -> None:
    noise = 2 * torch.finfo(dtype).eps
    require_repeatable(lambda x: (mean(x) * (1 + noise * len(x) / 32)).to(dtype), [X], 64)


def test_a_mask_goes_with_its_row_and_a_model_may_refuse_one_row() -> None:
    valid = torch.arange(20) < torch.arange(1, 41)[:, None].clamp(max=20)
    seen: list[int] = []

    def masked(x: Tensor, mask: Tensor) -> Tensor:
        seen.append(len(x))
        # No row has the mask of another.
        assert (mask.sum(1)[:, None] == (x[:, :1, 0] == X[:11, 0, 0]).float().argmax(1)[:, None] + 1).all()
        return ((x[..., 0] * mask).sum(1) / mask.sum(1)).squeeze()

    for count in range(2, 12):
        require_repeatable(masked, [X[:count], valid[:count]], 64)
    assert min(seen) == 1


@pytest.mark.parametrize(
    ("found", "got"),
    [
        (torch.ones(3).to_sparse(), "a tensor of torch.sparse_coo"),
        (torch.ones(3) + 1j, "(3,) of torch.complex64"),
        (torch.ones(3, 2, 1), "(3, 2, 1)"),
        (torch.ones(()), "()"),
        (torch.ones(2), "(2,)"),
        (torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "torch.qint8"),
        (torch.nested.nested_tensor([torch.ones(1)] * 3), "a nested tensor"),
        (torch.ones(3).to(torch.float8_e5m2), "torch.float8_e5m2"),
        (torch.ones(3, device="meta"), "meta device"),
        (None, "NoneType"),
    ],
    ids=str,
)
def test_what_is_no_prediction_is_named(found: object, got: str) -> None:
    with pytest.raises(ValueError, match=r"^model must return real numbers") as told:
        require_predictions(found, 3, "model")
    assert got in str(told.value)


def test_a_failure_on_changed_signals_says_what_was_asked_and_why() -> None:
    """As in scikit-learn, behind the kurtosis of a background that is constant."""
    x = torch.zeros(16, 80, 1)
    x[:, 40:44] = torch.linspace(1, 2, 16)[:, None, None]

    def kurtosis(x: Tensor) -> Tensor:
        centred = x - x.mean(1, keepdim=True)
        found = centred.pow(4).mean(1) / centred.square().mean(1).square()
        if not found.isfinite().all():
            raise ValueError("Input X contains NaN.")
        return found

    wanted = (
        r" must take backgrounds alone, .* which crest asks it about to see how much .* it failed with ValueError: Input X "
        r"contains NaN\. Such a signal may be constant"
    )
    for ask, name in ((crest.exchange_test, "function"), (crest.audit, "model")):
        with pytest.raises(ChangedSignalsError, match=f"^{name}{wanted}") as told:
            ask(kurtosis, x)
        assert str(told.value.__cause__) == "Input X contains NaN."


def test_predictions_without_numbers_are_refused_at_every_door() -> None:
    def empty(x: Tensor) -> Tensor:
        return mean(x).to("meta")

    for ask in (
        lambda: crest.exchange_test(empty, X),
        lambda: crest.audit(empty, X),
        lambda: crest.Watch(empty, X),
        lambda: crest.deletion(empty, X, mean(X), torch.rand(40, 20)),
        lambda: crest.saliency(empty, X),
        lambda: crest.error_without(empty, X, mean(X), torch.arange(20).expand(40, 20) == 3),
    ):
        with pytest.raises(ValueError, match="meta device"):
            ask()


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError(), ChangedSignalsError("told")])
def test_what_is_told_already_or_no_fault_of_the_signals_passes(error: Exception) -> None:
    with pytest.raises(type(error)) as told, asked_about("backgrounds", "to see"):
        raise error
    assert told.value is error
