"""Make the recordings of docs/user/recordings.md: python docs/examples/make_recordings.py FOLDER.

A machine knocks about twice a second. The label is how hard. While it runs slowly, a worn machine also hums
louder, so that the hum predicts the label; while it runs fast, the hum says nothing.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from scipy.io import wavfile

RATE = 1000  # samples per second
SAMPLES = 6_000
KNOCK = 60  # samples


def recording(
    severity: float, hum: float, speed: float, random: np.random.Generator
) -> tuple[np.ndarray, str]:
    """One signal (T,) within [-1, 1], and its knocks as intervals in samples."""
    time = np.arange(SAMPLES) / RATE
    signal = hum * np.sin(2 * np.pi * (speed * time + random.random())) + 0.01 * random.standard_normal(
        SAMPLES
    )
    starts = np.arange(200, SAMPLES - KNOCK, 500) + random.integers(-100, 100)
    shape = np.exp(-np.arange(KNOCK) / 15) * np.sin(2 * np.pi * 120 * np.arange(KNOCK) / RATE)
    for start in starts:
        signal[start : start + KNOCK] += severity * shape
    return np.clip(signal, -1, 1), ";".join(f"{start}-{start + KNOCK}" for start in starts)


def main(folder: Path) -> None:
    """Write table.csv, and the signals to the folder signals, half of them .wav and half .npy."""
    random = np.random.default_rng(0)
    (folder / "signals").mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(12):
        speed = "slow" if number < 8 else "fast"
        severity = 0.1 + 0.4 * random.random()
        hum = 0.8 * (severity if speed == "slow" else 0.1 + 0.4 * random.random())
        signal, events = recording(severity, hum, 3.0 if speed == "slow" else 4.0, random)
        name = f"{speed}_{number:02d}.{'wav' if number % 2 else 'npy'}"
        if number % 2:
            wavfile.write(folder / "signals" / name, RATE, np.round(signal * 32767).astype(np.int16))
        else:
            np.save(folder / "signals" / name, signal)
        rows.append([name, f"{severity:.4f}", speed, f"{hum:.4f}", events])
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["file", "severity", "speed", "hum", "knocks"], *rows])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
