"""`exchange` and `remove`: laws of both, on signals whose parts are known."""

from typing import Any

import pytest
import torch
from torch import Tensor

from crest.nuisances import exchange, remove, sigma_of
from crest.nuisances.scale import robust_scale
from crest.nuisances.spectra import smoothed_power

STEPS = 1024
TIME = torch.arange(STEPS, dtype=torch.float64)
EVERY = ["offset", "drift", "tones", "gain", "colour", "gain+colour", "offset+drift+tones", "surroundings"]


def noise(seed: int, rows: int = 4, steps: int = STEPS) -> Tensor:
    numbers = torch.Generator().manual_seed(seed)
    return torch.randn(rows, steps, 1, generator=numbers, dtype=torch.float64)


def burst() -> Tensor:
    made = torch.zeros(1, STEPS, 1, dtype=torch.float64)
    steps = torch.arange(40, dtype=torch.float64)
    made[0, 500:540, 0] = 8 * torch.exp(-steps / 10) * torch.cos(1.1 * steps)
    return made


def signals(
    seed: int, offset: float = 0.0, drift: float = 0.0, tone: float = 0.0, gain: float = 0.3
) -> Tensor:
    """Noise and a burst, with the parts named."""
    return offset + drift * SLOW + tone * WAVE + gain * noise(seed) + burst()


SLOW = torch.cos(2 * torch.pi * 2 * TIME / STEPS).reshape(1, -1, 1)
WAVE = torch.cos(0.7 * TIME).reshape(1, -1, 1)
# Without a loud tone, whose peaks the core would take for events: drift is then told cleanly.
APART: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "offset": ({"offset": 5.0, "drift": 2.0}, {"offset": -4.0}),
    "drift": ({"offset": 5.0, "drift": 2.0}, {"drift": 4.0}),
    "tones": ({"offset": 5.0, "tone": 3.0}, {"tone": 6.0}),
    "gain": ({"offset": 5.0}, {"gain": 0.9}),
}
"""Own and donors' parts, which differ in one nuisance and can be separated."""


def apart(name: str) -> tuple[Tensor, Tensor]:
    own, other = APART[name]
    return signals(1000, **own), signals(1001, **other)


def size(values: Tensor) -> float:
    return float(values.square().mean().sqrt())


@pytest.mark.parametrize("names", EVERY)
def test_with_itself_it_is_the_identity_to_the_bit(names: str) -> None:
    x = signals(1000, 3.0, 2.0, 4.0).float()
    assert torch.equal(exchange(x, x.clone(), names), x)
    mask = torch.arange(STEPS) < torch.tensor([STEPS, 700, 100, 1])[:, None]
    assert torch.equal(exchange(x, x.clone(), names, mask, mask), x)


@pytest.mark.parametrize("names", EVERY)
def test_with_nearly_itself_it_is_nearly_the_identity(names: str) -> None:
    """The same law without the short cut for equal signals."""
    x = signals(1000, 3.0, 2.0, 4.0)
    assert size(exchange(x, x + 1e-9 * noise(1001), names) - x) < 1e-7


@pytest.mark.parametrize("steps", [512, 2048])
@pytest.mark.parametrize("period", [6, 13, 21, 31, 52, 63, 150])
def test_a_tone_of_any_period_is_in_drift_or_tones_and_does_not_come_back(period: int, steps: int) -> None:
    time = torch.arange(steps, dtype=torch.float64)
    wave = torch.cos(2 * torch.pi * time / period).reshape(1, -1, 1)
    rest = 0.2 * noise(1000, 1, steps)

    def tone(signals: Tensor) -> float:
        turning = torch.exp(-2j * torch.pi * time / period)
        return float(2 * ((signals - rest)[0, :, 0] * turning).mean().abs())

    # The core takes some crests of a loud tone for events, so a little of it may stay.
    left = remove(2 * wave + rest, "drift+tones")
    assert tone(left) < 0.3
    assert tone(remove(left, "tones")) == pytest.approx(tone(left), abs=0.2)
    if period < steps / 40:
        assert tone(remove(2 * wave + rest, "tones")) < 0.1


def test_tones_and_gain_together_are_the_donors_and_not_counted_twice() -> None:
    x, donors = WAVE + noise(1000), 10 * WAVE + noise(1001)
    rest = exchange(x, donors, "gain") - WAVE
    assert size(rest) == pytest.approx(1, rel=0.1)
    both = exchange(x, donors, "tones+gain")
    assert size(both - 10 * WAVE) == pytest.approx(1, rel=0.2)


def test_a_channel_that_rests_but_for_its_events_keeps_them() -> None:
    """Its scale is the rounding of a filter: a ratio to that would be 1e8."""
    for dtype in (torch.float32, torch.float64):
        x = burst().to(dtype)
        assert torch.equal(exchange(x, noise(1000, 1).to(dtype), "gain"), x)
        assert size(exchange(noise(1000, 1).to(dtype), x, "gain")) == pytest.approx(1, rel=0.1)


def test_surroundings_bring_their_own_gain_and_colour() -> None:
    x = signals(1000)
    for names in ("surroundings+gain", ["colour", "surroundings"]):
        with pytest.raises(ValueError, match="names must have surroundings, or gain and colour"):
            exchange(x, x, names)
    with pytest.raises(ValueError, match="names must be of nuisances that a donor can give"):
        exchange(x, x, [])


def test_what_is_slow_can_be_set() -> None:
    """A wave of 32 periods is fast by default, and slow for a filter of half a step."""
    wave = torch.cos(2 * torch.pi * 32 * TIME / STEPS).reshape(1, -1, 1)
    assert size(remove(wave, "drift")) > 0.5
    finer = sigma_of(0.2, 1.0)
    assert size(remove(wave[:, :64], "drift", sigma=finer)) < 0.5 * size(remove(wave[:, :64], "drift"))


@pytest.mark.parametrize("name", APART)
def test_there_and_back_gives_the_signal(name: str) -> None:
    """Up to what the separation mistakes of either, a small part of what was moved."""
    x, donors = apart(name)
    there = exchange(x, donors, name)
    assert size(there - x) > 0.5
    assert size(exchange(there, x, name) - x) < 0.1 * size(there - x)


def test_each_part_becomes_the_donors() -> None:
    moved = {}
    for name in APART:
        x, donors = apart(name)
        moved[name] = exchange(x, donors, name) - x
    assert size(moved["offset"] + 9) < 0.1
    assert size(moved["drift"] - 2 * SLOW) < 0.2
    # As large beside the rest as the donor's are beside theirs.
    own, other = (robust_scale(one) for one in (0.3 * noise(1000) + burst(), 0.3 * noise(1001) + burst()))
    wanted = (6 * own / other - 3) * WAVE
    assert size(moved["tones"] - wanted) < 0.1 * size(wanted)
    # The rest is three times as large, its burst with it.
    rest = 0.3 * noise(1000) + burst()
    assert size(moved["gain"] - 2 * rest) < 0.2 * size(2 * rest)


@pytest.mark.parametrize("name", ["offset", "drift"])
def test_a_burst_keeps_its_energy(name: str) -> None:
    x, donors = apart(name)
    left = exchange(x, donors, name) - exchange(x - burst(), donors, name)
    assert float((left - burst()).square().sum() / burst().square().sum() / len(left)) < 0.05


def test_a_burst_has_no_say_in_the_size_of_tones() -> None:
    """But for the few per cent by which it is part of the rest, beside which tones are measured."""
    x, donors = apart("tones")
    left = exchange(x, donors, "tones") - exchange(x - burst(), donors, "tones")
    assert size(left - burst()) < 0.1 * size(3 * WAVE)


def test_where_all_is_louder_tones_do_not_move() -> None:
    """That is the gain, another nuisance."""
    x = signals(1000, tone=3.0)
    moved = exchange(x, 4 * x, "tones") - x
    assert size(moved) < 0.05 * size(3 * WAVE)


@pytest.mark.parametrize("names", [*APART, "offset+drift+tones+gain+colour"])
def test_what_is_removed_does_not_come_back(names: str) -> None:
    x = apart(names)[0] if names in APART else signals(1000, 5.0, 2.0)
    once = remove(x, names)
    assert size(once - x) > 0.3
    assert size(remove(once, names) - once) < 0.15 * size(once - x)


def test_without_its_colour_the_spectrum_is_flat_and_the_size_stays() -> None:
    x = noise(1000) + 0.9 * noise(1000).roll(1, 1)
    spread = [float(smoothed_power(one)[:, 60:-20].log10().std()) for one in (x, remove(x, "colour"))]
    assert spread[1] < 0.3 * spread[0]
    assert size(remove(x, "colour")) == pytest.approx(size(x), rel=0.05)


@pytest.mark.parametrize("name", APART)
def test_what_is_removed_is_what_is_exchanged(name: str) -> None:
    x, donors = apart(name)
    given = exchange(x, donors, name)
    assert size(remove(given, name) - remove(x, name)) < 0.1 * size(given - x)


def test_removal_leaves_the_rest() -> None:
    x = signals(1000, 5.0, 2.0)
    # The low-pass takes the slow part of the noise too, a few per cent of its power.
    assert size(remove(x, "offset+drift+tones") - 0.3 * noise(1000) - burst()) < 0.15
    assert size(remove(signals(1000, tone=3.0), "tones") - 0.3 * noise(1000) - burst()) < 0.05
    sized = remove(x, "offset+drift+tones+gain")
    torch.testing.assert_close(
        sized.abs().median(1).values, torch.full((4, 1), 1 / 1.4826).double(), rtol=0.01, atol=0
    )


def test_several_names_are_one_after_the_other_of_what_is_apart() -> None:
    x, donors = signals(1000, 5.0), signals(1001, -4.0, gain=2.0)
    both = exchange(x, donors, "gain+colour")
    torch.testing.assert_close(exchange(x, donors, ["colour", "gain"]), both)
    assert not torch.equal(both, exchange(x, donors, "colour"))
    assert not torch.equal(both, exchange(x, donors, "gain"))
    # Offset is apart from both.
    torch.testing.assert_close(
        exchange(x, donors, "offset+gain+colour") - both, exchange(x, donors, "offset") - x
    )


@pytest.mark.parametrize("names", EVERY)
def test_masks_equal_unpadded(names: str) -> None:
    x, donors = signals(1000, 5.0, 2.0, 3.0), signals(1001, -4.0, 3.0, 5.0)
    mask = torch.arange(STEPS) < torch.tensor([STEPS, 700, 700, 0])[:, None]
    other = torch.arange(STEPS) < torch.tensor([STEPS, 700, 900, STEPS])[:, None]
    dirty = x.masked_fill(~mask.unsqueeze(-1), 1e6)
    made = exchange(dirty, donors.masked_fill(~other.unsqueeze(-1), -1e6), names, mask, other)
    assert torch.equal(made[~mask], dirty[~mask])
    for row, own, given in ((0, STEPS, STEPS), (1, 700, 700), (2, 700, 900)):
        alone = exchange(x[row : row + 1, :own], donors[row : row + 1, :given], names)
        torch.testing.assert_close(made[row : row + 1, :own], alone, rtol=1e-6, atol=1e-8)
    if names != "surroundings":
        left = remove(dirty, names, mask)
        torch.testing.assert_close(left[1:2, :700], remove(x[1:2, :700], names), rtol=1e-6, atol=1e-8)
        assert (left[~mask] == 0).all()


@pytest.mark.parametrize("names", EVERY)
@pytest.mark.parametrize("steps", [1, 2, 5, 63])
def test_short_windows_and_constant_channels_are_left_finite(names: str, steps: int) -> None:
    x, flat = noise(1000, 2, steps), torch.full((2, steps, 1), 3.0, dtype=torch.float64)
    for one, two in ((x, flat), (flat, x), (flat, flat)):
        made = exchange(one, two, names)
        assert made.isfinite().all()
        assert made.shape == one.shape
    if names != "surroundings":
        assert remove(x, names).isfinite().all()
        left = remove(flat, names)
        assert (left.abs() < 1e-9).all() if "offset" in names else torch.equal(left, flat)


def test_the_dtype_stays() -> None:
    x = signals(1000, 1.0).to(torch.bfloat16)
    assert exchange(x, signals(1001, 2.0), "offset").dtype == torch.bfloat16
    assert remove(x, "offset").dtype == torch.bfloat16


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: exchange(x, x, "rate"), r"^names must be of nuisances that a donor can give \(for rate take stretched\), got 'rate'"),
        (lambda x: exchange(x, x, "loudness"), r"^names must be of offset, drift"),
        (lambda x: exchange(x, x[:2], "gain"), r"^donors must have shape \(B, S, C\)"),
        (lambda x: exchange(x, x, "gain", None, torch.ones(4, 3, dtype=torch.bool)), r"^donor_mask must have shape"),
        (lambda x: exchange(x[0], x, "gain"), r"^x must have shape \(B, T, C\)"),
        (lambda x: remove(x, "rate"), r"^names must be of offset, drift, tones, gain, colour, which can be taken off, got 'rate'"),
        (lambda x: remove(x, ["offset", "surroundings"]), r"^names must be of offset, drift, tones, gain, colour"),
        (lambda x: remove(x, []), r"^names must be of offset, drift"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(noise(1000))
