import pytest
import torch
from torch import Tensor

from crest.nuisances import stretched
from crest.remedies import Stretch


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(1000)


def ramps(rows: int = 400) -> Tensor:
    return torch.arange(-10.0, 11.0).expand(rows, -1).unsqueeze(-1).clone()


def test_factors_are_even_on_a_logarithmic_scale() -> None:
    made = Stretch(0.5, 2.0, probability=1.0, generator=seeded())(ramps())
    factors = 1 / (made[:, 11, 0] - made[:, 10, 0])
    slower = made[factors > 1]
    assert 0.4 < len(slower) / 400 < 0.6
    logs = factors[factors > 1].log2()
    assert float(logs.min()) >= 0
    assert float(logs.max()) <= 1.0001
    assert abs(float(logs.mean()) - 0.5) < 0.07


def test_it_is_a_stretch_of_some_rows() -> None:
    x = torch.randn(100, 50, 2, generator=seeded())
    made = Stretch(1.5, 1.5, generator=seeded())(x)
    changed = (made != x).flatten(1).any(1)
    assert 30 < int(changed.sum()) < 70
    torch.testing.assert_close(made[changed], stretched(x[changed], 1.5))
    assert torch.equal(made[~changed], x[~changed])


def test_one_row_can_be_stretched_and_padding_stays() -> None:
    x = torch.randn(1, 50, 1, generator=seeded())
    mask = torch.arange(50)[None] < 30
    made = Stretch(2.0, 2.0, probability=1.0)(x, mask)
    torch.testing.assert_close(made[:, :30], stretched(x[:, :30], 2.0))
    assert torch.equal(made[:, 30:], x[:, 30:])
    assert Stretch(probability=1.0).eval()(x) is x


def test_options_are_checked_by_name_and_told() -> None:
    assert repr(Stretch()) == "Stretch(low=0.5, high=2.0, probability=0.5)"
    with pytest.raises(ValueError, match=r"^low must be at most high = 1.0, got 2.0"):
        Stretch(2.0, 1.0)
    with pytest.raises(ValueError, match=r"^low must be positive, got 0"):
        Stretch(0.0, 1.0)
