"""Credit on the core, how concentrated it is, and what the answers lose without it."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from crest._audit.looking import looked_into
from crest._audit.readings import (
    Deletion,
    FeaturesNotFiniteError,
    Readings,
    core_of,
    deletions,
    readings,
    sharp_share,
)
from crest.probes.credit import step_scores
from crest.strangers.batch import Batch
from crest.strangers.interface import find_interface
from crest.strangers.lengths import mask_from
from crest.strangers.model import StrangerModel
from packed_made import STEPS, Masked, Packed, Unpacked, ragged

EVENT = 40


def with_bursts(count: int = 16, size: float = 5.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1000)
    x = 0.05 * torch.randn(count, 100, 1, generator=generator)
    x[:, EVENT : EVENT + 4, 0] += size * (1 + torch.rand(count, 1, generator=generator))
    return x


def gone(function: Callable[..., Any], x: torch.Tensor, core: torch.Tensor) -> Deletion | None:
    return deletions(StrangerModel(function, size=8), Batch(x), core, seed=0)


def test_credit_on_steps_and_its_concentration() -> None:
    credit = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.0, 0.0]])
    mask = torch.ones(3, 4, dtype=torch.bool)
    read = Readings(scores=credit, credit=credit, mask=mask, transience=credit)
    assert read.concentration[:2].tolist() == [0.5, 1.0]
    assert read.concentration[2].isnan()
    # Eight steps of the inputs for four of the features: the first two.
    steps = torch.zeros(3, 8, dtype=torch.bool)
    steps[:, :2] = True
    share, chance = read.on(steps)
    assert share[:2].tolist() == [0.5, 0.25]
    assert share[2].isnan()
    assert chance.tolist() == [0.25] * 3
    # A trajectory without any credit tells nothing of where it is.
    assert read.means_on(steps) == (0.375, 0.25)
    nothing = Readings(scores=0 * credit, credit=0 * credit, mask=mask, transience=credit).means_on(steps)
    assert math.isnan(nothing[0])
    assert nothing[1] == 0.25


def test_the_core_is_where_the_burst_is_and_as_many_steps_are_taken_elsewhere() -> None:
    x = with_bursts()
    core = core_of(x, torch.ones(16, 100, dtype=torch.bool), 6.0)
    assert core[:, EVENT : EVENT + 4].all()
    found = gone(lambda x: x[:, EVENT + 1, 0], x, core)
    assert found.core > 1
    assert found.others < 0.1
    # A reader of another place loses nothing with the core.
    mean = gone(lambda x: x[:, :20, 0].mean(1), x, core)
    assert mean.core == pytest.approx(0.0, abs=1e-6)
    assert gone(lambda x: torch.zeros(len(x)), x, core) is None


def test_noise_has_no_sharp_core() -> None:
    valid = torch.ones(16, 100, dtype=torch.bool)
    assert sharp_share(with_bursts(), valid) == 1.0
    assert sharp_share(with_bursts(size=0.0), valid) < 0.5


def read_of(model: nn.Module, x: torch.Tensor) -> Readings:
    """Readings of a model that takes (B, T, C), in evaluation mode."""
    stranger, batch = StrangerModel(model.eval(), size=8), Batch(x)
    return readings(stranger, batch, find_interface(stranger, batch))


class Pooled(nn.Module):
    """Features behind a ReLU; what the head reads is their mean, or the first of them."""

    def __init__(self, first: bool = False) -> None:
        super().__init__()
        torch.manual_seed(1000)
        self.features, self.active, self.head = nn.Linear(1, 6), nn.ReLU(), nn.Linear(6, 1)
        self.first = first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.active(self.features(x))
        return self.head(features[:, 0] if self.first else features.mean(1)).tanh()


def test_features_that_are_not_finite_have_an_error_of_their_own() -> None:
    model = Pooled()
    with torch.no_grad():
        model.features.bias[0] = torch.inf
    with pytest.raises(FeaturesNotFiniteError, match="features must be finite numbers"), torch.no_grad():
        read_of(model, with_bursts())


@torch.no_grad()
def test_a_pooled_vector_that_is_not_finite_is_not_blamed_on_the_features() -> None:
    class Divided(Pooled):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.active(self.features(x)).mean(1) / 0).nan_to_num() + x.mean(1)

    with pytest.raises(FeaturesNotFiniteError, match=r"got NaN or infinity in what is read by 'head'$"):
        read_of(Divided(), with_bursts())


@torch.no_grad()
@pytest.mark.parametrize("value", [-100.0, 100.0])
def test_features_that_are_the_same_at_each_step_have_no_token(value: float) -> None:
    dead = Pooled()
    dead.features.weight.zero_()
    dead.features.bias.fill_(value)
    read = read_of(dead, with_bursts())
    assert read.credit.shape == (16, 100)
    assert (read.credit.sum(1) > 0).tolist() == [value > 0] * 16


@torch.no_grad()
def test_a_step_that_the_head_reads_as_it_is_counts_as_a_token() -> None:
    assert read_of(Pooled(first=True), with_bursts()).credit.shape == (16, 99)
    assert read_of(Pooled(), with_bursts()).credit.shape == (16, 100)


@torch.no_grad()
@pytest.mark.parametrize("kind", [Packed, Unpacked, Masked])
def test_packed_features_are_read_as_those_of_each_trajectory_alone(kind: type[nn.Module]) -> None:
    x, _, lengths = ragged()
    model = kind().eval()
    # No trajectory of the first two batches has all steps.
    given = Batch(x, None, mask_from(lengths, x))
    _, read = looked_into(StrangerModel(model, size=9), given, None, None, [])
    assert read is not None
    assert read.scores.shape == (24, STEPS)
    assert torch.equal(read.mask, given.mask)
    inner = model.inner if isinstance(model, Masked) else model
    for row in (0, 10, 23):
        steps, state = inner.rnn(x[row : row + 1, : lengths[row]])
        if isinstance(inner, Packed):
            pooled = state[0][-1]
        else:
            steps = inner.norm(steps)
            pooled = steps.mean(1)
        alone = step_scores(steps, pooled)[0]
        torch.testing.assert_close(read.scores[row, : lengths[row]], alone, rtol=1e-4, atol=1e-5)
        assert not read.credit[row, lengths[row] :].any()


def test_a_trajectory_shorter_than_a_stride_keeps_a_step() -> None:
    """Where every stretch of the inputs has padding, those with any valid step count."""
    model = nn.Sequential(
        nn.Conv1d(1, 4, 8, stride=8), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1)
    )

    class Taking(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.inner(x * mask.unsqueeze(1))
            return found

    x = torch.randn(4, 1, 64)
    mask = torch.arange(64) < torch.tensor([64, 40, 5, 1])[:, None]
    stranger, batch = (
        StrangerModel(Taking().eval(), channels_first=True),
        Batch(x, None, mask, channels_first=True),
    )
    read = readings(stranger, batch, find_interface(stranger, batch))
    assert read.mask.sum(1).tolist() == [8, 5, 1, 1]
    assert read.mask[2:, 0].all()
