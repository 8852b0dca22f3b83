"""What an expert reads from such recordings without a network, and what each nuisance alone tells: numbers per trajectory (N, F)."""

from collections.abc import Mapping

import numpy as np
import torch
from scipy.signal import butter, find_peaks, sosfiltfilt
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from crest._base.floats import Floats
from crest.background.slow import SIGMA, slow_background
from crest.lab.systems.decodability import Errors, FeatureMap
from crest.nuisances.readings import BANDS, colour_numbers, course_numbers
from crest.recordings.trajectories import Splits, Trajectories
from crest.remedies.kurtogram import envelope_in_band, most_impulsive_band

# Hz: where the energy of a beat is, as in Pan and Tompkins (1985).
_BEATS = (5.0, 15.0)
# Seconds between beats at 240 a minute.
_SHORTEST = 0.25
_TREES = 200
# Shaft orders of the envelope's spectrum; both races' rates and their first harmonics are below.
_ORDERS = 20


def beat_features(data: Trajectories) -> Floats:
    """RR intervals, and how the beats of a window differ in height and width."""
    rate = data.sample_rate
    band = butter(2, _BEATS, "band", fs=rate, output="sos")
    numbers = []
    for signal in np.asarray(data.x[:, :, 0], dtype=np.float64):
        loud = np.abs(sosfiltfilt(band, signal))
        places, found = find_peaks(
            loud, height=0.35 * np.quantile(loud, 0.99), distance=int(_SHORTEST * rate), width=1
        )
        gaps = np.diff(places) / rate
        if len(gaps) < 3:
            numbers.append(np.zeros(11))
            continue
        middle, heights, widths = np.median(gaps), found["peak_heights"], found["widths"]
        raw = signal[places] - np.median(signal)
        numbers.append(
            np.array([
                middle, gaps.min() / middle, gaps.max() / middle, gaps.std() / middle,
                np.abs(np.diff(gaps)).max() / middle, heights.max() / np.median(heights),
                heights.min() / np.median(heights), widths.max() / np.median(widths),
                (raw / np.median(np.abs(raw))).min(), (raw / np.median(np.abs(raw))).max(), len(places),
            ])
        )  # fmt: skip
    return np.stack(numbers)


def fall_features(data: Trajectories) -> Floats:
    """The peak of the acceleration, how long it is high, how still it is after, and the orientation before and after."""
    x = np.asarray(data.x, dtype=np.float64)
    size = np.linalg.norm(x, axis=2)
    quarter = x.shape[1] // 4
    before, after = x[:, :quarter].mean(1), x[:, -quarter:].mean(1)
    turned = (before * after).sum(1) / (np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1) + 1e-9)
    loud = np.stack(
        [size.max(1), (size > 2.5).sum(1), size.min(1), size.std(1), size[:, -quarter:].std(1), turned], 1
    )
    return np.concatenate([loud, x.mean(1), after], 1)


def peak_features(data: Trajectories) -> Floats:
    """The peak and the steps above 2.5 g alone."""
    size = np.linalg.norm(np.asarray(data.x, dtype=np.float64), axis=2)
    return np.stack([size.max(1), (size > 2.5).sum(1)], 1)


def band_energies(data: Trajectories) -> Floats:
    """Logarithms of the energy in sixteen equal bands."""
    power = np.square(np.abs(np.fft.rfft(np.asarray(data.x[:, :, 0], dtype=np.float64), axis=1)))[:, 1:]
    parts = np.array_split(power, BANDS, axis=1)
    return np.log(np.stack([part.mean(1) for part in parts], 1) + 1e-12)


def envelope_orders(data: Trajectories) -> Floats:
    """The squared envelope's spectrum at orders of the shaft, in the band that is most impulsive, with its kurtosis.

    Order tracking: `condition` is the speed in rpm, so that a fault stands at the same order at every speed.
    """
    x = torch.as_tensor(np.asarray(data.x, dtype=np.float32))
    low, high = most_impulsive_band(x)
    power = envelope_in_band(x, low, high)[:, :, 0].double().square().numpy()
    power = power / power.mean(1, keepdims=True)
    lines = np.abs(np.fft.rfft(power, axis=1)) / power.shape[1]
    frequency = np.fft.rfftfreq(power.shape[1], 1 / data.sample_rate)
    turns = data.extra["condition"].astype(float) / 60
    orders = np.arange(0.5, _ORDERS, 0.5)
    found = np.stack([np.interp(orders * one, frequency, row) for one, row in zip(turns, lines, strict=True)])
    return np.concatenate([found, power.var(1, keepdims=True)], 1)


def offset_alone(data: Trajectories) -> Floats:
    """The mean of each channel."""
    means: Floats = np.mean(data.x, axis=1, dtype=np.float64)
    return means


def drift_alone(data: Trajectories) -> Floats:
    """The slow course of each channel, without its mean."""
    slow = slow_background(torch.as_tensor(np.asarray(data.x, dtype=np.float32)), None, sigma=SIGMA)
    return course_numbers(slow - slow.mean(1, keepdim=True)).double().numpy()


def gain_alone(data: Trajectories) -> Floats:
    """The logarithm of each channel's standard deviation around its slow course."""
    x = torch.as_tensor(np.asarray(data.x, dtype=np.float32))
    return np.log((x - slow_background(x, None, sigma=SIGMA)).std(1).double().numpy() + 1e-12)


def colour_alone(data: Trajectories) -> Floats:
    """The shape of the smoothed spectrum around the slow course."""
    x = torch.as_tensor(np.asarray(data.x, dtype=np.float32))
    return colour_numbers(x - slow_background(x, None, sigma=SIGMA), 1e-12).double().numpy()


NUISANCES_ALONE: Mapping[str, FeatureMap] = {
    "offset": offset_alone,
    "drift": drift_alone,
    "gain": gain_alone,
    "colour": colour_alone,
}
"""Readers of one nuisance, by its name."""
EXPERT_FEATURES: Mapping[str, Mapping[str, FeatureMap]] = {
    "mitbih": {"RR intervals and beats, forest": beat_features},
    "sisfall": {"peak and orientation, forest": fall_features, "peak alone, forest": peak_features},
    "hitsm": {
        "squared envelope spectrum at shaft orders, forest": envelope_orders,
        "band energies, forest": band_energies,
    },
}
"""What experts read by hand, by system."""


def read_by_forest(splits: Splits, features: FeatureMap, seed: int) -> Errors:
    """Errors of a random forest on these numbers, fitted on the training trajectories: error rates for classes, else root mean squares."""
    parts = {name: features(getattr(splits, name)) for name in ("train", "id", "ood")}
    kind = RandomForestClassifier if splits.train.classes else RandomForestRegressor
    forest = kind(_TREES, random_state=seed, min_samples_leaf=2).fit(parts["train"], splits.train.y)

    def error(name: str) -> float:
        wrong = forest.predict(parts[name]) - getattr(splits, name).y
        return float(np.mean(wrong != 0) if splits.train.classes else np.sqrt(np.mean(np.square(wrong))))

    return Errors(id=error("id"), ood=error("ood"))
