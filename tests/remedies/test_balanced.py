"""Balanced sampling: a tie in the data is gone in what is trained on."""

from typing import Any

import pytest
import torch

from crest.exchange.ties import tie_of
from crest.remedies import balanced_batches

# Nineteen of twenty trajectories have the target of their condition.
TARGETS = torch.tensor([0.0] * 95 + [1.0] * 5 + [1.0] * 95 + [0.0] * 5)
CONDITIONS = torch.tensor([0.0] * 100 + [1.0] * 100)
X = torch.stack([TARGETS, CONDITIONS], 1)[:, None, :].expand(-1, 4, -1).clone()
BATCHES = [(X[start : start + 32], TARGETS[start : start + 32]) for start in range(0, 200, 32)]


def test_target_and_condition_are_untied() -> None:
    tie = tie_of(TARGETS, CONDITIONS)
    assert tie.strength > 0.8
    batches = balanced_batches(BATCHES, tie.even_weights)
    passes = [torch.cat([x[:, 0] for x, _ in batches]) for _ in range(10)]
    seen = torch.cat(passes)
    assert tie_of(seen[:, 0], seen[:, 1]).strength < 0.1
    assert abs(float(seen[:, 0].mean()) - 0.5) < 0.05
    # Each pass draws anew.
    assert not torch.equal(passes[0], passes[1])


def test_form_and_sizes_stay_and_rows_stay_together() -> None:
    batches = balanced_batches(BATCHES, torch.ones(200))
    assert len(batches) == len(BATCHES)
    for (x, y), (given, _) in zip(batches, BATCHES, strict=True):
        assert x.shape == given.shape
        assert torch.equal(x[:, 0, 0], y)


def test_the_seed_repeats_all_passes() -> None:
    one, two, other = (balanced_batches(BATCHES, torch.ones(200), seed=seed) for seed in (3, 3, 4))
    drawn = [[torch.cat([x for x, _ in batches]) for _ in range(2)] for batches in (one, two, other)]
    assert all(map(torch.equal, drawn[0], drawn[1]))
    assert not torch.equal(drawn[0][0], drawn[2][0])


def test_dicts_under_ones_own_keys() -> None:
    batches = [{"a": X, "b": TARGETS, "name": "all"}]
    ((drawn),) = list(balanced_batches(batches, torch.ones(200), keys=("a", "b", "c")))
    assert drawn["name"] == "all"
    assert torch.equal(drawn["a"][:, 0, 0], drawn["b"])


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("batches", "weights", "message"),
    [
        (
            BATCHES,
            torch.ones(7),
            r"^weights must have shape \(N,\) = \(200,\), a weight for each trajectory, got \(7,\)",
        ),
        (BATCHES, -torch.ones(200), r"^weights must be 0 or more, got -1.0"),
        (BATCHES, torch.zeros(200), r"^weights must have one that is positive, got none"),
        (iter(BATCHES), torch.ones(200), r"^batches must be a list or a DataLoader"),
        ([(X,)], torch.ones(200), r"^batches must hold .* got no targets"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(batches: Any, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        balanced_batches(batches, weights)
