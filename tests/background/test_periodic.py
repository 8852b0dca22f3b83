"""The periodic background: a known transient survives, and where there is no tone nothing is taken."""

import math
import sys

import pytest
import torch

from crest.background import periodic, split

STEPS = torch.arange(512, dtype=torch.float64)
# The module: the package's attribute of that name is the function.
MODULE = sys.modules["crest.background.periodic"]


def ring_down(steps: torch.Tensor = STEPS, at: int = 200) -> torch.Tensor:
    """A transient that begins at a step, with its largest value 1."""
    since = (steps - at).clamp(min=0)
    made = torch.where(since < 40, torch.exp(-since / 10) * torch.sin(0.9 * since), 0.0)
    return made / made.abs().max()


def shock(at: int = 300) -> torch.Tensor:
    since = STEPS - at
    return torch.where((since >= 0) & (since < 16), torch.sin(math.pi * since / 16), 0.0)


TRANSIENTS = {"ring-down": ring_down(), "shock": shock(), "two": ring_down(at=100) - shock(at=390)}
TONES = {
    "fits the window": torch.cos(2 * math.pi * 16 / 512 * STEPS),
    "does not fit": torch.cos(2 * math.pi * 16.37 / 512 * STEPS + 0.4),
    "as fast as the transient": torch.cos(0.85 * STEPS + 0.4),
    "near the highest frequency": torch.cos(3.0 * STEPS + 0.4),
    "two": torch.cos(0.3 * STEPS) + 0.6 * torch.cos(0.77 * STEPS + 1),
    "two of one loudness": torch.cos(0.3 * STEPS) + torch.cos(0.77 * STEPS + 1),
    "harmonics": torch.cos(0.2 * STEPS)
    + 0.5 * torch.cos(0.4 * STEPS + 1)
    + 0.25 * torch.cos(0.6 * STEPS + 2),
    "drifts": torch.cos(0.4 * STEPS + 0.03 * STEPS**2 / 512),
    "drifts by half": torch.cos(0.4 * STEPS + 0.1 * STEPS**2 / 512),
    "drifts to and fro": torch.cos(0.4 * STEPS + 3 * torch.sin(math.pi * STEPS / 512)),
    "breathes": (1 + 0.3 * torch.sin(2 * math.pi * 0.7 * STEPS / 512)) * torch.cos(0.4 * STEPS),
}


def noise(*shape: int, seed: int = 1000) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def lost(signal: torch.Tensor, tone: torch.Tensor, transient: torch.Tensor) -> torch.Tensor:
    """The energy of the error of the transient, as a share of the transient's; signals are (B, T)."""
    found = periodic(signal.unsqueeze(-1)).squeeze(-1)
    return (found - tone).square().sum(-1) / transient.square().sum()


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("kind", TRANSIENTS)
@pytest.mark.parametrize("tone", TONES)
def test_a_known_transient_survives(tone: str, kind: str, ratio: float) -> None:
    background, transient = ratio * TONES[tone], TRANSIENTS[kind]
    clean = (background + transient).unsqueeze(0)
    assert lost(clean, background, transient).item() < 0.05
    # With noise one draw in some hundreds loses more: the middle of five is asked.
    noisy = clean + 0.05 * noise(5, 512)
    assert lost(noisy, background, transient).median().item() < 0.05


def test_slow_waves_are_left_for_the_low_pass() -> None:
    slow = 3 * torch.cos(2 * math.pi * 1.3 * STEPS / 512) + STEPS / 100
    tone = 2 * torch.cos(0.4 * STEPS)
    signal = (slow + tone + ring_down() + 0.05 * noise(512)).unsqueeze(0)
    assert lost(signal, tone, ring_down()).item() < 0.05
    wave = torch.sin(2 * math.pi * 2.3 * STEPS / 512).reshape(1, -1, 1)
    assert (periodic(wave) == 0).all()


@pytest.mark.parametrize("steps", [64, 200, 512])
def test_noise_is_left_alone(steps: int) -> None:
    signals = noise(100, steps, 2)
    taken = periodic(signals).square().sum() / signals.square().sum()
    assert taken < 1e-3


def test_red_noise_is_left_alone() -> None:
    signals = noise(100, 512, 1)
    for step in range(1, 512):
        signals[:, step] += 0.9 * signals[:, step - 1]
    taken = (periodic(signals) != 0).any(1).double().mean()
    assert taken <= 0.03


@pytest.mark.parametrize("kind", TRANSIENTS)
@pytest.mark.parametrize("deviation", [0.0, 0.01, 0.1])
def test_a_lone_transient_is_left_alone(kind: str, deviation: float) -> None:
    signals = (TRANSIENTS[kind] + deviation * noise(40, 512)).unsqueeze(-1)
    taken = periodic(signals).square().sum() / signals.square().sum()
    assert taken < 1e-3


@pytest.mark.parametrize("steps", [1, 2, 7, 63, 64, 200])
@pytest.mark.parametrize("shape", ["constant", "ramp", "step", "decay"])
def test_what_has_no_period_has_no_tone(shape: str, steps: int) -> None:
    time = torch.arange(steps, dtype=torch.float64)
    made = {
        "constant": torch.full_like(time, 0.1),
        "ramp": time,
        "step": (time > 0.4 * steps).double(),
        "decay": torch.exp(-time / 80),
    }
    result = periodic(made[shape].reshape(1, -1, 1).float())
    assert (result == 0).all()


def test_the_level_is_no_tone_and_changes_nothing() -> None:
    signal = (TONES["two"] + ring_down()).reshape(1, -1, 1)
    found = periodic(signal)
    torch.testing.assert_close(periodic(signal + 100.0), found, rtol=0, atol=1e-6)
    torch.testing.assert_close(periodic(1e6 * signal) / 1e6, found, rtol=0, atol=1e-6)
    assert found.mean().abs() < 0.01


def test_a_tone_with_fewer_than_four_periods_is_none() -> None:
    slow = torch.cos(2 * math.pi * 3 * STEPS / 512)
    quick = torch.cos(2 * math.pi * 9 * STEPS / 512)
    signals = torch.stack([slow, quick], -1).unsqueeze(0) + 0.05 * noise(1, 512, 2)
    energy = periodic(signals).square().mean(1).squeeze(0)
    assert energy[0] < 0.01
    assert energy[1] == pytest.approx(0.5, rel=0.02)


def test_each_series_is_taken_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    signals = torch.stack([TONES["two"] + ring_down(), TONES["drifts"], noise(512), torch.zeros(512)], -1)
    signals = torch.stack([signals, signals.flip(-1) + 0.05 * noise(512, 4)])
    together = periodic(signals)
    assert (together[0, :, 2:] == 0).all()
    for row in range(2):
        for channel in range(4):
            alone = periodic(signals[row : row + 1, :, channel : channel + 1])
            torch.testing.assert_close(
                together[row : row + 1, :, channel : channel + 1], alone, rtol=0, atol=1e-6
            )
    monkeypatch.setattr(MODULE, "_CHUNK", 1)
    torch.testing.assert_close(periodic(signals), together, rtol=0, atol=1e-6)


def test_padding_may_hold_anything_and_lie_anywhere() -> None:
    tone = TONES["two"].expand(4, -1)
    signals = (tone + ring_down() + 0.05 * noise(4, 512)).unsqueeze(-1)
    steps = torch.arange(512)
    mask = torch.stack([steps < 512, steps < 400, steps >= 90, (steps < 300) | (steps > 340)])
    result = periodic(signals.masked_fill(~mask.unsqueeze(-1), float("nan")), mask)
    assert (result[~mask] == 0).all()
    torch.testing.assert_close(result[1:2, :400], periodic(signals[1:2, :400]), rtol=0, atol=1e-9)
    torch.testing.assert_close(result[2:3, 90:], periodic(signals[2:3, 90:]), rtol=0, atol=1e-9)
    missed = (result.squeeze(-1) - tone).masked_fill(~mask, 0.0).square().sum(1)
    assert (missed < 0.05 * ring_down().square().sum()).all()


def test_a_mask_with_few_or_no_valid_steps_gives_zeros() -> None:
    signals = TONES["two"].expand(3, -1).unsqueeze(-1)
    steps = torch.arange(512)
    mask = torch.stack([steps < 0, steps < 63, steps % 10 == 0])
    assert (periodic(signals, mask) == 0).all()


def test_no_more_tones_than_were_asked_for() -> None:
    loud, soft = TONES["fits the window"], 0.3 * torch.cos(0.9 * STEPS)
    found = periodic((loud + soft).reshape(1, -1, 1), tones=1).flatten()
    assert (found - loud).square().mean() < 0.01
    found = periodic((loud + soft).reshape(1, -1, 1), tones=2).flatten()
    assert (found - loud - soft).square().mean() < 1e-6


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_it_is_computed_in_float64_and_comes_back_in_float32_at_least(dtype: torch.dtype) -> None:
    tone = TONES["does not fit"].reshape(1, -1, 1)
    found = periodic(tone.to(dtype))
    assert found.dtype == torch.promote_types(dtype, torch.float32)
    assert (found - tone).abs().max() < 4 * torch.finfo(dtype).eps + 1e-3


def test_it_has_no_gradient_and_the_transient_has_one() -> None:
    signals = (TONES["two"] + ring_down()).reshape(1, -1, 1).requires_grad_()
    assert not periodic(signals).requires_grad
    (gradient,) = torch.autograd.grad(split(signals, "periodic").transient.sum(), signals)
    assert torch.equal(gradient, torch.ones_like(signals))


def test_the_same_bits_every_time() -> None:
    signals = (TONES["harmonics"] + ring_down() + 0.05 * noise(3, 512)).unsqueeze(-1)
    assert torch.equal(periodic(signals), periodic(signals))


@pytest.mark.unchecked
def test_the_door_names_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"^signals must have shape \(B, T, C\)"):
        periodic(torch.zeros(3, 4))
    with pytest.raises(ValueError, match=r"^mask must have shape \(B, T\) = \(1, 4\), got \(1, 3\)"):
        periodic(torch.zeros(1, 4, 2), torch.ones(1, 3).bool())
    with pytest.raises(ValueError, match=r"^tones must be a whole number, 1 or more, got 0$"):
        periodic(torch.zeros(1, 4, 2), tones=0)
