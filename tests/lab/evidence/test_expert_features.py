"""What experts read by hand, on signals whose numbers are known."""

import numpy as np
import numpy.typing as npt
import pytest

from crest.lab.evidence.expert_features import (
    EXPERT_FEATURES,
    NUISANCES_ALONE,
    band_energies,
    beat_features,
    colour_alone,
    drift_alone,
    envelope_orders,
    fall_features,
    gain_alone,
    offset_alone,
    peak_features,
    read_by_forest,
)
from crest.lab.evidence.field_runs import FIELD_SYSTEMS
from crest.recordings.trajectories import Splits, Trajectories


def trajectories(x: npt.NDArray[np.float64], rate: float, **more: object) -> Trajectories:
    return Trajectories(
        x=x.astype(np.float32),
        y=np.zeros(len(x)),
        sample_rate=rate,
        channels=tuple("abc")[: x.shape[2]],
        **more,
    )  # type: ignore[arg-type]


def beats(places: list[float], seconds: float = 10.0, rate: float = 90.0) -> npt.NDArray[np.float64]:
    time = np.arange(int(seconds * rate)) / rate
    return sum(np.exp(-0.5 * np.square((time - place) / 0.02)) for place in places)[None, :, None]  # type: ignore[index]


def test_the_interval_before_a_premature_beat_is_short() -> None:
    regular = [0.5 + 0.8 * beat for beat in range(12)]
    early = [*regular[:6], regular[6] - 0.3, *regular[7:]]
    numbers = beat_features(trajectories(np.concatenate([beats(regular), beats(early)]), 90.0))
    assert numbers[:, 0] == pytest.approx([0.8, 0.8], abs=0.02)
    shortest, longest = numbers[:, 1], numbers[:, 2]
    assert shortest[0] > 0.95
    assert shortest[1] < 0.7
    assert longest[0] < 1.05
    assert longest[1] > 1.3
    assert numbers[:, -1].tolist() == [12, 12]


def test_a_window_with_hardly_a_beat_has_no_intervals() -> None:
    assert (beat_features(trajectories(beats([2.0, 7.0]), 90.0)) == 0).all()


def test_the_peak_of_a_fall_and_the_turn_of_the_body() -> None:
    x = np.zeros((2, 80, 3))
    x[:, :, 1] = 1.0
    x[1, 40] = (0.0, 4.0, 3.0)
    x[1, 41:] = (1.0, 0.0, 0.0)
    numbers = fall_features(trajectories(x, 50.0))
    assert numbers[:, 0].tolist() == [1.0, 5.0]
    assert numbers[:, 1].tolist() == [0, 1]
    assert numbers[:, 5] == pytest.approx([1.0, 0.0], abs=1e-6)
    assert numbers[1, -3:].tolist() == [1.0, 0.0, 0.0]
    assert peak_features(trajectories(x, 50.0)).tolist() == [[1.0, 0.0], [5.0, 1.0]]


def test_the_energy_of_a_tone_is_in_its_band() -> None:
    time = np.arange(1024)
    tones = np.stack([np.sin(2 * np.pi * frequency * time) for frequency in (0.05, 0.45)])[:, :, None]
    assert band_energies(trajectories(tones, 1.0)).argmax(1).tolist() == [1, 14]


@pytest.mark.parametrize("speed", [600, 1200])
def test_a_knock_stands_at_the_same_order_at_every_speed(speed: int) -> None:
    """Five knocks a turn, each a short ring."""
    rate, steps = 12800.0, 8192
    x = np.random.default_rng(0).normal(0, 0.01, steps)
    ring = np.exp(-np.arange(60) / 10) * np.sin(2 * np.pi * 0.25 * np.arange(60))
    for start in np.arange(0, steps - 60, rate / (5 * speed / 60)).astype(int):
        x[start : start + 60] += ring
    numbers = envelope_orders(
        trajectories(x[None, :, None], rate, extra={"condition": np.array([str(speed)])})
    )
    orders = np.arange(0.5, 20, 0.5)
    assert orders[numbers[0, :-1][orders < 8].argmax()] == 5.0


def test_each_nuisance_alone_is_blind_to_the_others() -> None:
    numbers = np.random.default_rng(0)
    noise = numbers.normal(size=(1, 512, 1))
    time = np.linspace(0, 1, 512)[None, :, None]
    changed = {
        "offset": noise + 3.0,
        "drift": noise + np.sin(2 * np.pi * time),
        "gain": 2 * noise,
        "colour": np.cumsum(noise, 1) - np.cumsum(noise, 1).mean(1, keepdims=True),
    }
    plain = trajectories(noise, 1.0)
    moved = {
        name: [
            float(np.abs(read(trajectories(x, 1.0)) - read(plain)).max())
            for read in (offset_alone, drift_alone, gain_alone, colour_alone)
        ]
        for name, x in changed.items()
    }
    assert moved["offset"] == pytest.approx([3.0, 0.0, 0.0, 0.0], abs=2e-2)
    assert moved["gain"][2] == pytest.approx(np.log(2), abs=1e-3)
    assert moved["gain"][3] == pytest.approx(0.0, abs=1e-3)
    assert moved["drift"][1] > 10 * moved["drift"][2]
    assert moved["colour"][3] > 0.1
    assert list(NUISANCES_ALONE) == list(changed)


@pytest.mark.parametrize("classes", [("no", "yes"), None])
def test_a_forest_reads_what_breaks(classes: tuple[str, ...] | None) -> None:
    """The first channel's mean tells the label but in the field, where it is reversed."""
    numbers = np.random.default_rng(0)

    def part(sign: float) -> Trajectories:
        y = np.tile([0.0, 1.0], 40)
        x = (sign * (2 * y - 1))[:, None, None] + numbers.normal(0, 0.1, (80, 20, 1))
        return Trajectories(
            x=x.astype(np.float32), y=y, sample_rate=1.0, channels=("a",), classes=classes or ()
        )

    found = read_by_forest(Splits(train=part(1), id=part(1), ood=part(-1)), offset_alone, 0)
    assert (found.id, found.ood) == (pytest.approx(0.0, abs=1e-6), pytest.approx(1.0, abs=1e-6))


def test_every_system_of_the_field_has_experts() -> None:
    assert tuple(EXPERT_FEATURES) == FIELD_SYSTEMS
