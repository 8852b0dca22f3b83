"""Ways to take tones off a signal: how much of a known transient each loses, and its time as a ratio to `low_pass`.

`periodic` beside what the field uses: linear prediction with a delay (self-adaptive cancellation), a spectrum
clipped to its level (discrete-random separation by frequency), and cepstral pre-whitening. Times are printed to be read
as ratios. `python benchmarks/backgrounds.py [--rounds N] [--quick]`.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from crest.background import low_pass, periodic

RATIOS = (0.5, 1.0, 3.0, 10.0)
NOISE = 0.05
RIDGE = 1e-3


def prediction(signals: Tensor) -> Tensor:
    """What steps some way off tell of each step: tones go on, transients do not. From the later for the first half."""
    half = signals.shape[1] // 2
    return torch.cat([told(signals.flip(1)).flip(1)[:, :half], told(signals)[:, half:]], 1)


def told(signals: Tensor, delay: int = 20, order: int = 64) -> Tensor:
    """Each step from `order` steps that lie more than `delay` steps before it; 0 where there are none."""
    series = signals.double().transpose(1, 2)
    past = series.unfold(2, order, 1)[:, :, : -delay - 1]
    now = series[..., order + delay :]
    normal = past.mT @ past
    level = normal.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    taps = torch.linalg.solve(normal + RIDGE * level * torch.eye(order), past.mT @ now.unsqueeze(-1))
    return torch.nn.functional.pad((past @ taps).squeeze(-1), (order + delay, 0)).transpose(1, 2)


def clipping(signals: Tensor, louder: float = 4.0) -> Tensor:
    """What stands out of the spectrum's median."""
    spectrum = torch.fft.rfft(signals.double(), dim=1)
    size = spectrum.abs()
    level = size.median(1, keepdim=True).values
    kept = torch.where(size > louder * level, level / size.clamp(min=1e-300), 1.0)
    return signals - torch.fft.irfft(spectrum * kept, n=signals.shape[1], dim=1)


def prewhitening(signals: Tensor) -> Tensor:
    """All but the phases of the spectrum, which the cepstrum without its echoes is; at the level of the median."""
    spectrum = torch.fft.rfft(signals.double(), dim=1)
    size = spectrum.abs().clamp(min=1e-300)
    white = spectrum / size * size.median(1, keepdim=True).values
    return signals - torch.fft.irfft(white, n=signals.shape[1], dim=1)


WAYS: dict[str, Callable[[Tensor], Tensor]] = {
    "periodic": periodic,
    "prediction": prediction,
    "clipping": clipping,
    "prewhitening": prewhitening,
}


def cases(steps: int) -> tuple[dict[str, Tensor], Tensor]:
    """Tones of amplitude 1 and a transient whose largest value is 1."""
    n = torch.arange(steps, dtype=torch.float64)
    tones = {
        "no fit": torch.cos(2 * math.pi * (steps // 32 + 0.37) / steps * n + 0.4),
        "two": torch.cos(0.3 * n) + 0.6 * torch.cos(0.77 * n + 1),
        "drifts": torch.cos(0.4 * n + 0.03 * n**2 / steps),
    }
    since = (n - 2 * steps // 5).clamp(min=0)
    transient = torch.where(since < 40, torch.exp(-since / 10) * torch.sin(0.9 * since), 0.0)
    return tones, transient / transient.abs().max()


def losses(way: Callable[[Tensor], Tensor], steps: int, draws: int) -> dict[str, list[float]]:
    """Median share of the transient's energy in the error, for each tone over the ratios; no tone at all comes last."""
    tones, transient = cases(steps)
    noise = NOISE * torch.randn(
        draws, steps, dtype=torch.float64, generator=torch.Generator().manual_seed(1000)
    )

    def lost(tone: Tensor) -> float:
        found = way((tone + transient + noise).unsqueeze(-1)).squeeze(-1)
        return float(((found - tone).square().sum(1) / transient.square().sum()).median())

    table = {name: [lost(ratio * tone) for ratio in RATIOS] for name, tone in tones.items()}
    return table | {"no tone": [lost(torch.zeros_like(transient))]}


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    steps, draws, batch = (256, 2, 2) if options.quick else (512, 20, 64)
    print(
        f"energy lost of a transient, noise {NOISE}, tones {', '.join(f'{ratio:g}' for ratio in RATIOS)} times it"
    )
    for name, way in WAYS.items():
        for tone, row in losses(way, steps, draws).items():
            print(f"  {name:<14}{tone:<10}" + "".join(f"{100 * one:11.1f} %" for one in row))
    tones, transient = cases(steps)
    tones["no tone"] = torch.zeros_like(transient)
    noise = NOISE * torch.randn(batch, steps, 2, dtype=torch.float64)
    print(f"\ntime for (B, T, C) = {tuple(noise.shape)} over that of low_pass")
    for tone, background in tones.items():
        signals = ((3 * background + transient).unsqueeze(-1) + noise).float()
        yardstick = milliseconds(lambda signals=signals: low_pass(signals, sigma=6.0), options.rounds)
        for name, way in WAYS.items():
            spent = milliseconds(lambda way=way, signals=signals: way(signals), options.rounds)
            print(f"  {name:<14}{tone:<10}{spent:9.1f} ms {spent / yardstick:8.1f} x")


if __name__ == "__main__":
    main()
