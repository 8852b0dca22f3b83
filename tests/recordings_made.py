"""Tables of recordings for tests, and one way to load them."""

from pathlib import Path

from crest.systems.base import Trajectories
from crest.systems.recordings import load_recordings


def table(folder: Path, *lines: str) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def load(path: Path) -> Trajectories:
    return load_recordings(
        path, window=8, hop=6, sample_rate=10, condition="speed", proxy="cue", events="events", channels=["a"]
    )
