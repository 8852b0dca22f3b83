import pickle

import pytest
import torch

from crest.remedies import Chain, JitterLevel, Stretch


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(1000)


X = torch.randn(8, 60, 2, generator=seeded()) + torch.arange(8.0)[:, None, None]
MASK = torch.arange(60) < torch.tensor([60, 60, 50, 45, 40, 30, 20, 0])[:, None]


def test_changes_come_one_after_the_other_from_one_generator() -> None:
    numbers = seeded()
    expected = JitterLevel().augment(X, MASK, numbers)
    expected = Stretch().augment(expected, MASK, numbers)
    layer = Chain([JitterLevel(generator=torch.Generator().manual_seed(3)), Stretch()], generator=seeded())
    assert torch.equal(layer(X, MASK), expected)
    # The next batch draws anew, and the other order is another chain.
    assert not torch.equal(layer(X, MASK), expected)
    assert not torch.equal(Chain([Stretch(), JitterLevel()], generator=seeded())(X, MASK), expected)


def test_the_layout_is_the_chains() -> None:
    first = Chain([JitterLevel(), Stretch()], generator=seeded(), channels_first=True)(X.mT, MASK)
    torch.testing.assert_close(first.mT, Chain([JitterLevel(), Stretch()], generator=seeded())(X, MASK))


def test_it_is_for_training_only_and_travels_to_workers() -> None:
    layer = Chain([JitterLevel(generator=seeded())], generator=seeded())
    collate = pickle.loads(pickle.dumps(layer.collate(torch.stack)))
    assert collate([X[0], X[1]]).shape == (2, 60, 2)
    assert layer.eval()(X) is X


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("changes", "got"), [([], "none"), ([torch.nn.ReLU()], "ReLU"), ([JitterLevel(), 3], "JitterLevel, int")]
)
def test_what_is_no_change_is_refused(changes: list[object], got: str) -> None:
    with pytest.raises(ValueError, match=r"^changes must be"):
        Chain(changes)
