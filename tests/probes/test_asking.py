"""A model that is asked keeps nothing, and predicts for each trajectory alone."""

import random

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from crest.probes.asking import quietly, require_callable, require_predictions, require_repeatable

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


@pytest.mark.parametrize("size", [2, 4, 5, 24, 64])
def test_a_mean_over_the_batch_is_refused_at_any_batch_size(size: int) -> None:
    require_repeatable(mean, [X], size)
    for count in (4, 5, 40):
        with pytest.raises(ValueError, match=r"^model must .* whatever else is in its batch, got others for"):
            # With two trajectories in each batch only their order changes, which a cumulative sum sees.
            require_repeatable(
                lambda x: mean(x.cumsum(0) if size < 4 else x - x.mean(0)), [X[:count]], size, "model"
            )


def test_what_changes_from_call_to_call_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^function must give the same prediction .* dropout"):
        require_repeatable(lambda x: mean(nn.functional.dropout(x)), [X], 64)


def test_a_few_that_flip_are_a_warning() -> None:
    """Rounding turns a step that decides by a threshold, now and then."""

    def flips(x: Tensor) -> Tensor:
        found = mean(x)
        found[0] += len(x) == 32  # of the first 32, asked about at once
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


def test_a_mask_goes_with_its_row_and_no_batch_has_one_row() -> None:
    valid = torch.arange(20) < torch.arange(1, 41)[:, None].clamp(max=20)
    seen: list[int] = []

    def masked(x: Tensor, mask: Tensor) -> Tensor:
        seen.append(len(x))
        return ((x[..., 0] * mask).sum(1) / mask.sum(1)).squeeze()

    for count in range(2, 12):
        require_repeatable(masked, [X[:count], valid[:count]], 64)
    assert min(seen) == 2
    # One at a time is what was asked for.
    require_repeatable(mean, [X], 1)


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
        (None, "NoneType"),
    ],
    ids=str,
)
def test_what_is_no_prediction_is_named(found: object, got: str) -> None:
    with pytest.raises(ValueError, match=r"^model must return real numbers") as told:
        require_predictions(found, 3, "model")
    assert got in str(told.value)


def test_what_cannot_be_called_is_named() -> None:
    program = torch.export.export(nn.Linear(2, 1), (torch.ones(3, 2),))
    with pytest.raises(
        ValueError, match=r"^model must be .* got ExportedProgram, which is called as its .module\(\)"
    ):
        require_callable(program, "model")
    with pytest.raises(ValueError, match=r"^function must be a module or a function, got int"):
        require_callable(3)
