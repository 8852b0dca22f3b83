import pytest
import torch

from crest._repair.treatments import REPAIRS
from crest.background import split
from crest.strangers.batch_forms import BatchForm

X, Y = torch.randn(32, 1, 100) + torch.randn(32, 1, 1), torch.arange(32.0)


def test_what_leaves_the_batches_alone_hands_them_on() -> None:
    batches = [(X, Y)]
    for name in ("AC coupling", "high-pass", "CREST"):
        assert REPAIRS[name].change(batches, BatchForm(), channels_first=True, seed=0) is batches


@pytest.mark.parametrize("name", ["level jitter", "exchange", "CREST + exchange"])
def test_half_of_the_rows_change_channel_by_channel_and_labels_stay(name: str) -> None:
    changed = REPAIRS[name].change([(X, Y)], BatchForm(), channels_first=True, seed=0)
    ((x, y),) = list(changed)
    assert y is Y
    moved = x - X
    rows = moved.flatten(1).any(1)
    assert 6 <= int(rows.sum()) <= 26
    # What is added is smooth along time, the last axis: a level, or a difference of two slow backgrounds.
    assert moved[rows].diff(dim=2).abs().amax() < 0.5 * X.diff(dim=2).abs().amax()


def test_around_the_core_the_core_stays() -> None:
    x = X.clone()
    x[:, 0, 40:44] += torch.linspace(5, 9, 32)[:, None]
    ((changed, _),) = REPAIRS["core exchange"].change([(x, Y)], BatchForm(), channels_first=True, seed=0)
    background = split(x.mT, "core").background.mT
    moved = changed - x
    rows = moved.flatten(1).any(1)
    assert 6 <= int(rows.sum()) <= 26
    for row in rows.nonzero().flatten().tolist():
        # What was added is another's background less the own.
        given = moved[row] + background[row]
        assert (given - background).abs().amax((1, 2)).min() < 1e-5


def test_padding_stays() -> None:
    mask = (torch.arange(100) < 60).expand(32, 100)
    changed = REPAIRS["exchange"].change([(X, Y, mask)], BatchForm(), channels_first=True, seed=0)
    ((x, _, same),) = list(changed)
    assert same is mask
    assert torch.equal(x[..., 60:], X[..., 60:])
    assert not torch.equal(x, X)
