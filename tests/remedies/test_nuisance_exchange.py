import pytest
import torch
from torch import Tensor

from crest.nuisances import exchange
from crest.remedies import ExchangeNuisances

EVERY = ["offset", "drift", "tones", "gain", "colour", "gain+colour", "surroundings"]


def signals(rows: int = 6, steps: int = 160) -> Tensor:
    numbers = torch.Generator().manual_seed(1000)
    x = torch.randn(rows, steps, 2, generator=numbers) * (1 + torch.arange(rows))[:, None, None]
    x += 5 * torch.arange(rows)[:, None, None] * (1 + torch.cos(0.9 * torch.arange(steps))[None, :, None])
    return x


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(1000)


@pytest.mark.parametrize("names", EVERY)
def test_every_row_has_the_nuisances_of_one_other(names: str) -> None:
    x = signals()
    made = ExchangeNuisances(names, probability=1.0, generator=seeded())(x)
    for row in range(6):
        given = exchange(x[row : row + 1].expand(6, -1, -1), x, names)
        fits = [torch.allclose(made[row], one, rtol=1e-3, atol=1e-3) for one in given]
        assert sum(fits) == 1
        assert not fits[row]


def test_the_share_of_changed_rows_is_the_probability() -> None:
    x = torch.randn(400, 16, 1, generator=seeded()) + torch.arange(400.0)[:, None, None]
    for probability in (0.0, 0.3, 1.0):
        made = ExchangeNuisances("offset", probability=probability, generator=seeded())(x)
        share = (made != x).flatten(1).any(1).float().mean()
        assert abs(float(share) - probability) < 0.07


def test_one_row_and_evaluation_are_the_identity() -> None:
    x = signals()
    layer = ExchangeNuisances("gain", probability=1.0)
    assert torch.equal(layer(x[:1]), x[:1])
    assert layer.eval()(x) is x
    alone = torch.zeros(6, 160, dtype=torch.bool)
    alone[2] = True
    assert torch.equal(layer.train()(x, alone), x)


@pytest.mark.parametrize("names", EVERY)
def test_padding_stays_and_does_not_count(names: str) -> None:
    x = signals()
    mask = torch.arange(160) < torch.tensor([160, 160, 100, 100, 1, 0])[:, None]
    dirty = x.masked_fill(~mask.unsqueeze(-1), float("nan"))
    clean, made = (
        ExchangeNuisances(names, probability=1.0, generator=seeded())(one, mask) for one in (x, dirty)
    )
    torch.testing.assert_close(clean[mask], made[mask])
    assert torch.equal(clean[~mask], x[~mask])
    assert not torch.equal(clean, x)


def test_it_says_what_it_is() -> None:
    assert repr(ExchangeNuisances("colour + gain", sigma=4.0)) == (
        "ExchangeNuisances('gain+colour', probability=0.5, sigma=4.0)"
    )


@pytest.mark.parametrize("names", ["rate", "gain+rate", []])
def test_what_no_donor_can_give_is_refused(names: str) -> None:
    with pytest.raises(
        ValueError, match=r"^names must be of nuisances that a donor can give \(for rate take Stretch\)"
    ):
        ExchangeNuisances(names)
