"""Response curves against readers whose response is known."""

import pytest
import torch
from torch import Tensor

from crest._audit.curves import ResponseCurve, response_curves
from crest.strangers.batch import Batch
from crest.strangers.model import StrangerModel


def curves(function: object, x: Tensor, mask: Tensor | None = None) -> dict[str, ResponseCurve]:
    batch, stranger = Batch(inputs=x, mask=mask, channels_first=False), StrangerModel(function, False)
    return response_curves(stranger, batch, stranger.predictions(batch))


def signals(count: int = 20, channels: int = 1) -> Tensor:
    numbers = torch.Generator().manual_seed(1000)
    level = torch.randn(count, 1, channels, generator=numbers)
    return level + 0.1 * torch.randn(count, 128, channels, generator=numbers)


def mean(x: Tensor, mask: Tensor | None = None) -> Tensor:
    return x.mean((1, 2)) if mask is None else (x.mean(2) * mask).sum(1) / mask.sum(1)


def test_a_reader_of_the_mean_shifts_by_what_is_added_and_scales_with_the_gain() -> None:
    found = curves(mean, signals())
    assert set(found) == {"gain", "rate", "offset"}
    # Offsets come in deviations of the levels, and so does what it predicts.
    assert found["offset"].shifted == pytest.approx(found["offset"].values, abs=1e-3)
    assert found["offset"].moved == pytest.approx([abs(one) for one in found["offset"].values], abs=1e-3)
    doubled, fourfold = found["gain"].moved[3:]
    assert fourfold == pytest.approx(3 * doubled, rel=1e-4)
    assert max(found["rate"].moved) < 0.1


def test_at_what_is_no_change_nothing_moves() -> None:
    for reader in (mean, lambda x: x.std((1, 2))):
        found = curves(reader, signals())
        for name, still in (("gain", 1.0), ("rate", 1.0), ("offset", 0.0)):
            place = found[name].values.index(still)
            assert found[name].moved[place] == pytest.approx(0.0, abs=1e-5), name


def test_what_a_reader_ignores_leaves_its_curve_flat() -> None:
    def coupled(x: Tensor) -> Tensor:
        return (x - x.mean(1, keepdim=True)).abs().mean((1, 2))

    def scaled(x: Tensor) -> Tensor:
        return x[:, 5, 0] / x[..., 0].abs().amax(1)

    assert max(curves(coupled, signals())["offset"].moved) < 1e-4
    assert max(curves(coupled, signals())["gain"].moved) > 1
    assert max(curves(scaled, signals())["gain"].moved) < 1e-4


def test_padding_changes_no_curve() -> None:
    x = signals() - 10.0
    mask = (torch.arange(160) < 128).expand(len(x), -1)
    plain = curves(mean, x)
    for value in (0.0, 1e6):
        padded = torch.nn.functional.pad(x, (0, 0, 0, 32), value=value)
        found = curves(mean, padded, mask)
        for name, curve in plain.items():
            assert found[name].moved == pytest.approx(curve.moved, rel=1e-3, abs=1e-3), (name, value)


def test_signals_without_levels_are_shifted_by_the_deviation_of_their_steps() -> None:
    x = signals()
    x = x - x.mean(1, keepdim=True)
    found = curves(lambda x: x.mean((1, 2)) + x.std((1, 2)), x)
    spread = float(x.std((1, 2)).std(correction=0))
    assert found["offset"].shifted[-1] == pytest.approx(2 * float(x.std(correction=0)) / spread, rel=0.01)


def test_predictions_that_do_not_vary_have_no_curves() -> None:
    assert curves(lambda x: torch.ones(len(x)), signals()) == {}


def test_of_logits_the_largest_shift_is_told_with_its_sign() -> None:
    found = curves(lambda x: torch.stack([mean(x), -3 * mean(x)], 1), signals())
    assert found["offset"].shifted[-1] < 0 < found["offset"].shifted[0]
    assert found["offset"].moved[-1] == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("count", [2, 24, 40])
def test_few_are_asked(count: int) -> None:
    seen: list[int] = []

    def watched(x: Tensor) -> Tensor:
        seen.append(len(x))
        return mean(x)

    curves(watched, signals(count))
    # The predictions as they are come first, and up to 32 of them again: turned round, in other company, of an odd size and alone.
    assert sum(seen) <= {2: 56, 24: 536, 40: 601}[count]
