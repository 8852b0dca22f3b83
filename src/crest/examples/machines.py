"""Recordings of machines whose damage is told by knocks, and at the test bench by a cue too."""

import dataclasses
import math
from typing import NamedTuple

import torch
from torch import Tensor

from crest._base.arguments import require, require_choice
from crest._base.doors import door

MACHINE_CUES = ("level", "amplitude", "rate")
"""What the load may change: the level of the signal, its amplitude, or the frequency of a vibration in the background."""
_STEPS = 128
# Samples per second: a recording takes 1.28 s and a knock 0.06 s.
_SAMPLE_RATE = 100.0
_KNOCK = torch.tensor([1.0, -0.9, 0.8, -0.6, 0.4, -0.2])
# A knock in each half of a recording: first and last step at which it may begin.
_STARTS = ((5, 50), (65, 115))


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class MachineRecordings:
    """N recordings of machines, one channel each.

    Attributes:
        x: the signals (N, 1, T), channels first, as convolutions take them.
        y: the damage (N,), with mean 0 and a standard deviation of about 1: a prediction that is always 0 has an error of about 1.
        condition: the load (N,), on the same scale.
        events: True on the steps of a knock (N, T). No tool needs them.
        sample_rate: samples per second.
    """

    x: Tensor
    y: Tensor
    condition: Tensor
    events: Tensor
    sample_rate: float = _SAMPLE_RATE

    def __len__(self) -> int:
        return len(self.x)

    def batches(self, size: int = 32) -> list[tuple[Tensor, Tensor]]:
        """Pairs (x, y) of at most `size` recordings, in order.

        Example:
            >>> [tuple(x.shape) for x, y in machines().bench.batches(100)]
            [(100, 1, 128), (28, 1, 128)]
        """
        require("size", size, "be a whole number, 1 or more")
        return list(zip(torch.split(self.x, size), torch.split(self.y, size), strict=True))


class MachineParts(NamedTuple):
    """The same kind of machine in three places."""

    train: MachineRecordings
    """256 recordings of the test bench, to train on."""
    bench: MachineRecordings
    """128 more of the bench, held out."""
    plant: MachineRecordings
    """128 of the plant, where the load has nothing to do with the damage."""


@door
def machines(seed: int = 0, *, cue: str = "level", tie: float = 0.97, noise: float = 0.05) -> MachineParts:
    """Recordings of machines that knock twice: the worse the damage, the harder. On the bench the load tells the damage too.

    A model that follows the load is right on the bench and wrong in the plant.

    Args:
        seed: draws other machines.
        cue: what goes with the damage on the bench. "level": the load shifts the signal. "amplitude": it makes all of the signal louder,
            background and knocks. "rate": it makes a vibration in the background faster.
        tie: correlation of load and damage on the bench; 0 in the plant.
        noise: standard deviation of the sensor's noise. A knock has a height of about 1.5.

    Example:
        >>> train, bench, plant = machines()
        >>> train.x.shape, bench.y.shape, plant.events.shape
        (torch.Size([256, 1, 128]), torch.Size([128]), torch.Size([128, 128]))
        >>> [bool(torch.corrcoef(torch.stack([part.y, part.condition]))[0, 1] > 0.9) for part in (bench, plant)]
        [True, False]
    """
    require("seed", seed, "be a whole number, 0 or more")
    require_choice("cue", cue, MACHINE_CUES)
    require("tie", tie, "lie in [-1, 1]")
    require("noise", noise, "be 0 or more")
    numbers = torch.Generator().manual_seed(seed)
    return MachineParts(
        train=_recorded(256, tie, cue, noise, numbers),
        bench=_recorded(128, tie, cue, noise, numbers),
        plant=_recorded(128, 0.0, cue, noise, numbers),
    )


def _recorded(count: int, tie: float, cue: str, noise: float, numbers: torch.Generator) -> MachineRecordings:
    damage, other = torch.randn(2, count, generator=numbers)
    load = tie * damage + (1 - tie**2) ** 0.5 * other
    x = noise * torch.randn(count, _STEPS, generator=numbers)
    if cue == "level":
        x += load[:, None]
    if cue == "amplitude":
        x += 0.2 * torch.randn(count, _STEPS, generator=numbers)
    if cue == "rate":
        x += _vibration(0.08 * (0.25 * load).exp(), numbers)
    events = torch.zeros(count, _STEPS, dtype=torch.bool)
    for row in range(count):
        for first, last in _STARTS:
            start = int(torch.randint(first, last, (), generator=numbers))
            inside = slice(start, start + len(_KNOCK))
            x[row, inside] += (1.5 + 0.5 * damage[row]) * _KNOCK
            events[row, inside] = True
    if cue == "amplitude":
        x *= (0.5 * load[:, None]).exp()
    return MachineRecordings(x=x[:, None], y=damage, condition=load, events=events)


def _vibration(frequency: Tensor, numbers: torch.Generator) -> Tensor:
    """Waves (N, T) of these frequencies in turns per step. They swell or fade: a steady tone would be another nuisance."""
    start, way = torch.rand(2, len(frequency), 1, generator=numbers)
    size = 0.5 + 0.3 * torch.where(way > 0.5, 1.0, -1.0) * torch.linspace(-1, 1, _STEPS)
    turns: Tensor = frequency[:, None] * torch.arange(_STEPS) + start
    return size * torch.sin(2 * math.pi * turns)
