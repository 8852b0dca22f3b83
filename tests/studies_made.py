"""A small study for tests: eight recordings, a table, an encoder in a file, and the TOML that names them."""

from pathlib import Path

import numpy as np

ENCODER = """
from torch import nn

class Halved(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layer = nn.Conv1d(channels, 6, 4, stride=2, padding=1)

    def forward(self, x):
        return self.layer(x.mT).mT

def make_encoder(channels):
    return Halved(channels)

def make_wide(channels):
    return nn.Linear(channels, 9)
"""
RECORDINGS = {"table": "table.csv", "window": 40, "sample_rate": 100, "condition": "speed", "ood": ["fast"]}
MODELS = {"encoders": ["pointwise", "my_encoder.py:make_encoder"], "readouts": ["mean", "crest"], "seeds": 2}


def made_recordings(folder: Path) -> Path:
    """A table of eight recordings of 240 samples with a knock in each, two of them fast; the table's path."""
    numbers = np.random.default_rng(1000)
    rows = ["file,label,speed,part,knocks,state"]
    for place in range(8):
        level, knock = numbers.normal(size=2)
        signal = level + 0.05 * numbers.normal(size=240)
        signal[20::40] += knock
        np.save(folder / f"{place}.npy", signal)
        speed, part = ("fast", "ood") if place > 5 else ("slow", "id" if place == 5 else "train")
        events = ";".join(f"{start}-{start + 1}" for start in range(20, 240, 40))
        rows.append(f"{place}.npy,{knock:.3f},{speed},{part},{events},{'ok' if place % 2 else 'worn'}")
    table = folder / "table.csv"
    table.write_text("\n".join(rows) + "\n")
    return table


def made_study(folder: Path, **changes: dict[str, object]) -> Path:
    """The TOML file of a study in a folder that has its recordings and its encoder; a key that is None is left out."""
    if not (folder / "table.csv").exists():
        made_recordings(folder)
        (folder / "my_encoder.py").write_text(ENCODER)
    sections = {"recordings": RECORDINGS, "models": MODELS, "training": {"epochs": 1}}
    sections = {name: {**sections.get(name, {}), **changes.get(name, {})} for name in {**sections, **changes}}
    lines = []
    for name, section in sections.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {_toml(value)}" for key, value in section.items() if value is not None]
    path = folder / "my_study.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f'"{value}"'
        if isinstance(value, str)
        else str(value)
    )
