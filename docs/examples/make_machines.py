"""Make the recordings of the tutorials: python docs/examples/make_machines.py FOLDER.

Machines knock twice in a recording, and the worse they are, the harder. At the test bench bad machines also got more load, which
shifts the whole signal; in the plant the load has nothing to do with it. A kiln has no knocks: its temperature drifts.
"""

import csv
import sys
from pathlib import Path

import numpy as np

RATE = 1000  # samples per second
SAMPLES = 128
KNOCK = np.array([1.0, -0.9, 0.8, -0.6, 0.4, -0.2])
TIE = 0.97  # correlation of load and severity at the test bench
COUNTS = {"bench": 240, "plant": 160}


def machine(severity: float, load: float, random: np.random.Generator) -> np.ndarray:
    """One signal (T,)."""
    phase = 2 * np.pi * random.random()
    signal = load + 0.2 * np.sin(2 * np.pi * np.arange(SAMPLES) / 100 + phase)
    for start in (random.integers(5, 50), random.integers(65, 115)):
        signal[start : start + len(KNOCK)] += (1.5 + 0.5 * severity) * KNOCK
    return signal + 0.05 * random.standard_normal(SAMPLES)


def kiln(mean: float, random: np.random.Generator) -> np.ndarray:
    """One signal (T,) that drifts around its mean."""
    time = np.linspace(-1, 1, SAMPLES)
    rise, wave, phase = random.standard_normal(3)
    drift = 0.3 * rise * time + 0.3 * wave * np.sin(3 * time + phase)
    return mean + drift - drift.mean() + 0.3 * random.standard_normal(SAMPLES)


def main(folder: Path) -> None:
    """Write machines.csv and kilns.csv, and the signals to the folder signals."""
    random = np.random.default_rng(1000)
    (folder / "signals").mkdir(parents=True, exist_ok=True)
    machines, kilns = [["file", "severity", "fault", "load", "place"]], [["file", "temperature"]]
    for place, count in COUNTS.items():
        for number in range(count):
            severity, other = random.standard_normal(2).clip(-2, 2)
            load = TIE * severity + (1 - TIE**2) ** 0.5 * other if place == "bench" else other
            file = f"{place}_{number:03d}.npy"
            np.save(folder / "signals" / file, machine(severity, load, random))
            machines.append([file, f"{severity:.4f}", int(severity > 0), f"{load:.4f}", place])
    for number in range(120):
        temperature = random.standard_normal()
        file = f"kiln_{number:03d}.npy"
        np.save(folder / "signals" / file, kiln(temperature, random))
        kilns.append([file, f"{temperature:.4f}"])
    for name, rows in (("machines.csv", machines), ("kilns.csv", kilns)):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
