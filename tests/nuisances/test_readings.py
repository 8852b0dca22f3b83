import math

import pytest
import torch

from crest.nuisances import SeparatedSignals
from crest.nuisances.readings import colour_numbers, core_numbers, course_numbers, gain_numbers, tone_numbers
from crest.nuisances.spectra import smoothed_power

FLOOR = 1e-5


def noise(rows: int = 3, steps: int = 256, seed: int = 1000) -> torch.Tensor:
    return torch.randn(rows, steps, 1, generator=torch.Generator().manual_seed(seed))


def test_a_course_is_its_means_its_waves_and_its_size() -> None:
    steps = torch.arange(320.0)
    slow = (2 * torch.cos(2 * math.pi * 3 * steps / 320)).reshape(1, 320, 1)
    found = course_numbers(slow)[0]
    assert found.shape == (25,)
    torch.testing.assert_close(found[:16], slow[0, :, 0].reshape(16, 20).mean(1))
    waves = torch.zeros(8)
    waves[2] = 2.0
    torch.testing.assert_close(found[16:24], waves, atol=1e-4, rtol=0)
    assert float(found[24]) == pytest.approx(math.sqrt(2), rel=1e-4)


def test_tones_have_a_size_and_a_frequency_and_silence_has_neither() -> None:
    wave = (3 * torch.cos(2 * math.pi * 0.2 * torch.arange(500.0))).reshape(1, 500, 1)
    *_, size, log, loudest = tone_numbers(torch.cat([wave, 0 * wave]), FLOOR).T
    assert size.tolist() == pytest.approx([3 / math.sqrt(2), 0.0], abs=1e-4)
    assert log.tolist() == pytest.approx([math.log(3 / math.sqrt(2)), math.log(FLOOR)], abs=1e-4)
    assert loudest.tolist() == pytest.approx([0.2, 0.0], abs=1e-6)


def test_twice_the_gain_adds_the_logarithm_of_two_and_no_colour() -> None:
    one = noise()
    gain = one.std(1, keepdim=True)
    torch.testing.assert_close(
        gain_numbers(2 * gain, FLOOR) - gain_numbers(gain, FLOOR), torch.full((3, 1), math.log(2))
    )
    torch.testing.assert_close(colour_numbers(2 * one, FLOOR), colour_numbers(one, FLOOR), atol=1e-4, rtol=0)
    red = one.cumsum(1)
    assert float((colour_numbers(red, FLOOR) - colour_numbers(one, FLOOR)).abs().max()) > 1


def test_a_colour_has_every_frequency_but_zero() -> None:
    one = noise(2, 64)
    bands = smoothed_power(one)[:, 1:33].reshape(2, 16, 2).mean(2).log()
    torch.testing.assert_close(colour_numbers(one, FLOOR), bands - bands.mean(1, keepdim=True))


def test_what_is_brief_has_a_sign_a_size_and_a_duration() -> None:
    brief = torch.zeros(2, 200, 1)
    brief[0, 50:54], brief[1, 50:70] = 3.0, -3.0
    up, down = core_numbers(brief, FLOOR)
    assert (float(up[0]), float(up[7]), float(up[8])) == (3.0, 3.0, 0.0)
    assert (float(down[0]), float(down[7]), float(down[8])) == (3.0, 0.0, -3.0)
    # Index 16 is the share of the steps above half of the largest value.
    assert (float(up[16]), float(down[16])) == pytest.approx((0.02, 0.1))


def test_no_number_of_a_constant_tells_its_level() -> None:
    """The rounding that is left where a level is taken away grows with the level, and its logarithm would tell it."""
    levels = torch.linspace(0.1, 1.0, 20)[:, None, None]
    parts = SeparatedSignals(levels + torch.zeros(20, 128, 1))
    for name in ("drift", "tones", "gain", "colour", "core"):
        found = parts.reading(name, scale=1.0)
        assert float((found.amax(0) - found.amin(0)).max()) < 1e-5, name
    torch.testing.assert_close(parts.reading("offset")[:, 0], levels.flatten().double())


def test_an_event_is_in_the_core_and_not_around_it() -> None:
    quiet = 0.05 * noise(2, 400)
    events = quiet.clone()
    events[:, 100:110] += 4.0
    for name, differs in (("core", True), ("colour", True), ("colour around", False), ("gain around", False)):
        before, after = (SeparatedSignals(x).reading(name, scale=4.0) for x in (quiet, events))
        assert bool((before - after).abs().max() > 1.5) == differs, name


def test_the_surroundings_are_their_parts_side_by_side() -> None:
    parts = SeparatedSignals(noise(2).repeat(1, 1, 2))
    names = ("offset", "drift", "tones", "gain around", "colour around")
    expected = torch.cat([parts.reading(name) for name in names], 1)
    torch.testing.assert_close(parts.reading("surroundings"), expected)
    assert expected.shape == (2, 2 * (1 + 25 + 19 + 1 + 16))


def test_padding_changes_no_number() -> None:
    x = noise(2, 300)
    mask = torch.ones(2, 300, dtype=torch.bool)
    mask[:, 200:] = False
    for name in ("offset", "drift", "gain", "colour", "core"):
        padded = SeparatedSignals(x, mask).reading(name, scale=1.0)
        torch.testing.assert_close(padded, SeparatedSignals(x[:, :200]).reading(name, scale=1.0))


def test_another_name_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^name must be one of offset, .*, got 'ofset': did you mean 'offset'\?"
    ):
        SeparatedSignals(noise()).reading("ofset")
