"""How far a nuisance moves a prediction: on readers of one known thing, and the bootstrap by hand."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from crest import Exchange, ExchangeSettings, exchange_test
from crest.exchange.sensitivity import (
    DRAWS,
    ONE_BY_ONE,
    error_interval,
    root_of_ratio,
)
from crest.probes import rmse

SMALL = ExchangeSettings(trajectories=32, block=4, bootstrap=50)
STEPS, EVENT = 256, 120


def made(count: int = 32, seed: int = 1000) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Noise with an offset, a gain and a burst without a mean, each drawn by itself; and the three."""
    numbers = torch.Generator().manual_seed(seed)
    offset, gain, burst = torch.randn(3, count, generator=numbers)
    # Without a slow part: that of white noise is a drift, and as loud as the noise.
    noise = torch.randn(count, STEPS + 1, generator=numbers).diff(dim=1)
    x = 3 * offset[:, None] + (0.5 * gain).exp()[:, None] * noise
    x[:, EVENT : EVENT + 8] += (20 + 4 * burst)[:, None] * torch.tensor([1.0, -1.0]).repeat(4)
    return x.unsqueeze(-1), offset, gain, burst


def mean(x: Tensor) -> Tensor:
    return x.mean((1, 2))


def log_scale(x: Tensor) -> Tensor:
    steps = x[..., 0] - x[..., 0].median(1, keepdim=True).values
    return steps.abs().median(1).values.log()


def difference(x: Tensor) -> Tensor:
    """Of neighbouring steps: no offset has a part in it."""
    return x[:, EVENT, 0] - x[:, EVENT + 1, 0]


def moves(reader: Callable[[Tensor], Tensor], settings: ExchangeSettings = SMALL) -> dict[str, float]:
    found = exchange_test(reader, made()[0], exchange=settings)
    return {name: one.moved for name, one in found.nuisances.items()}


def test_what_a_model_provably_ignores_moves_it_by_nothing() -> None:
    assert moves(difference)["offset"] == pytest.approx(0.0, abs=1e-5)
    assert moves(lambda x: x.diff(dim=1).abs().amax((1, 2)))["offset"] == pytest.approx(0.0, abs=1e-5)
    # Whether a window has a level at all says nothing of the size of its steps.
    coupled = moves(lambda x: log_scale(x - x.mean(1, keepdim=True)))
    assert coupled["offset"] == pytest.approx(0.0, abs=1e-4)


def test_a_reader_of_the_mean_is_moved_by_the_offset_alone() -> None:
    found = moves(mean)
    # Two of one distribution differ by twice its variance.
    assert found.pop("offset") == pytest.approx(math.sqrt(2), rel=0.25)
    assert max(found.values()) < 0.2, found


def test_a_reader_of_the_log_scale_is_moved_by_the_gain_alone() -> None:
    found = moves(log_scale)
    assert found.pop("gain") == pytest.approx(math.sqrt(2), rel=0.25)
    # Stretched, noise of the highest frequencies lies between the steps and is lost: that is no gain.
    found.pop("rate")
    assert max(found.values()) < 0.45, found
    assert found["offset"] == pytest.approx(0.0, abs=1e-4)


def test_what_was_declared_is_exchanged_together() -> None:
    for reader, invariant, moved in (
        (mean, ("offset",), True),
        (mean, ("gain",), False),
        (log_scale, ("gain",), True),
        (log_scale, ("offset", "drift", "tones"), False),
    ):
        settings = ExchangeSettings(trajectories=32, block=4, bootstrap=50, invariant=invariant)
        found = exchange_test(reader, made()[0], exchange=settings)
        assert (found.together.moved > 0.9) == moved, (reader, invariant, found.together)
        assert found.verdict == ("background" if moved else "events")
        assert found.invariant == invariant


@pytest.mark.parametrize("declared", [(), ("tones",)])
def test_if_nothing_declared_is_there_nothing_is_known_and_the_error_is_as_it_is(
    declared: tuple[str, ...],
) -> None:
    x, offset, _, _ = made()
    settings = ExchangeSettings(trajectories=32, block=4, bootstrap=50, invariant=declared)
    found = exchange_test(mean, x, targets=offset, exchange=settings)
    own = float(rmse(mean(x), offset))
    assert math.isnan(found.together.moved)
    assert (found.verdict, found.absent) == ("unclear", declared)
    assert found.together.error == pytest.approx(own, rel=1e-6)
    assert found.expected_error == found.together.error


def test_the_error_once_the_offset_tells_nothing_is_that_of_a_guess() -> None:
    x, offset, _, _ = made()
    found = exchange_test(lambda x: mean(x) / 3, x, targets=offset, exchange=SMALL)
    assert found.nuisances["offset"].error == pytest.approx(math.sqrt(2) * float(offset.std()), rel=0.25)
    low, high = found.together.error_interval
    assert low <= found.together.error <= high
    assert low < high
    # What does not move it costs nothing.
    assert found.nuisances["gain"].error < 0.3


def test_the_rows_are_named_and_only_of_what_is_there() -> None:
    x, _, _, _ = made()
    found = exchange_test(mean, x, exchange=SMALL)
    assert set(found.nuisances) == set(ONE_BY_ONE) - {"tones"}
    assert all(one.error is None and one.error_interval is None for one in found.nuisances.values())
    steps = torch.arange(STEPS)
    toned = x + torch.linspace(5, 15, 32)[:, None, None] * torch.cos(0.7 * steps)[:, None]
    assert "tones" in exchange_test(mean, toned, exchange=SMALL).nuisances
    # A constant channel has neither gain nor colour.
    flat = torch.randn(12, 1, 1, generator=torch.Generator().manual_seed(0)).expand(12, 64, 1)
    assert set(exchange_test(mean, flat, exchange=SMALL).nuisances) == {"offset", "drift", "rate"}


def test_predictions_that_do_not_vary_are_not_moved_by_anything() -> None:
    found = exchange_test(lambda x: torch.ones(len(x)), made()[0], exchange=SMALL)
    assert math.isnan(found.together.moved)
    assert all(math.isnan(one.moved) for one in found.nuisances.values())
    assert found.verdict == "unclear"


def test_a_mask_of_all_steps_says_what_none_says_and_padding_is_not_read() -> None:
    x, offset, _, _ = made(12)
    settings = ExchangeSettings(trajectories=12, block=4, bootstrap=50)

    def masked(x: Tensor, mask: Tensor) -> Tensor:
        return (x[..., 0] * mask).sum(1) / mask.sum(1)

    plain = exchange_test(mean, x, targets=offset, exchange=settings)
    full = torch.ones(x.shape[:2], dtype=torch.bool)
    padded = torch.nn.functional.pad(x, (0, 0, 0, 9), value=1e6)
    mask = torch.nn.functional.pad(full, (0, 9))
    for given, valid in ((x, full), (padded, mask)):
        found: Exchange = exchange_test(masked, given, mask=valid, targets=offset, exchange=settings)
        for name, one in plain.nuisances.items():
            assert found.nuisances[name].moved == pytest.approx(one.moved, abs=1e-3), name
        assert found.together.error == pytest.approx(plain.together.error, rel=1e-3)


def test_the_same_seed_gives_the_same_rows() -> None:
    x, offset, _, _ = made()
    first, again = (exchange_test(log_scale, x, targets=offset, exchange=SMALL) for _ in range(2))
    assert first == again
    other = exchange_test(
        log_scale, x, exchange=ExchangeSettings(trajectories=32, block=4, bootstrap=50, seed=1)
    )
    assert other.nuisances["gain"].moved != first.nuisances["gain"].moved


def test_two_trajectories_are_enough_to_exchange() -> None:
    x, offset, _, _ = made(2)
    found = exchange_test(mean, x, targets=offset, exchange=SMALL)
    # Of two, each moves to the place of the other: twice the standard deviation.
    assert found.nuisances["offset"].moved == pytest.approx(2.0, rel=0.1)


def test_the_root_of_a_ratio_and_its_interval() -> None:
    change, spread = np.array([1.0, 4.0, 9.0]), np.array([1.0, 1.0, 1.0])
    draws = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    found, (low, high) = root_of_ratio(change, spread, draws)
    assert found == pytest.approx(math.sqrt(14 / 3))
    assert (low, high) == (pytest.approx(1.05), pytest.approx(2.95))
    nothing, interval = root_of_ratio(change, np.zeros(3), draws)
    assert math.isnan(nothing)
    assert all(map(math.isnan, interval))


def test_all_predictions_of_a_trajectory_are_drawn_together() -> None:
    """Two predictions for each of two trajectories, one always wrong: a draw has 0, half or all of the error."""
    seen = []

    def error(found: Tensor, wanted: Tensor) -> Tensor:
        seen.append(found.tolist())
        return (found - wanted).abs().mean()

    found, wanted, rows = torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.zeros(4), torch.tensor([0, 1, 0, 1])
    interval = error_interval(
        found, wanted, rows, value=0.5, error=error, numbers=np.random.default_rng(0), draws=60
    )
    assert interval == (0.0, 1.0)
    assert len(seen) == 60
    assert {sum(one) for one in seen} == {0.0, 2.0, 4.0}
    error_interval(found, wanted, rows, value=0.5, error=error, numbers=np.random.default_rng(0), draws=10**6)
    assert len(seen) == 60 + DRAWS


def test_all_predictions_of_a_group_are_drawn_together() -> None:
    """Four trajectories in two groups, of one of which all are wrong: a draw has 0, half or all of the error."""
    found, wanted = torch.tensor([0.0, 0.0, 0.0, 1.0]), torch.zeros(4)
    seen = set()

    def error(found: Tensor, wanted: Tensor) -> Tensor:
        seen.add((len(found), found.mean().item()))
        return (found - wanted).abs().mean()

    numbers, groups = np.random.default_rng(0), np.array([0, 0, 0, 1])
    error_interval(
        found, wanted, torch.arange(4), value=0.25, error=error, numbers=numbers, draws=60, groups=groups
    )
    assert seen == {(6, 0.0), (4, 0.25), (2, 1.0)}
