"""Trajectories in one file: npz with its metadata, never a pickle, never half a file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from crest._base.doors import door
from crest._base.files import whole_file
from crest._base.plain_json import read_json
from crest.recordings.archives import read_archive
from crest.recordings.options import RecordingOptions
from crest.recordings.trajectories import Trajectories

TRAJECTORY_FORMAT = "crest-trajectories-1"
_OPTIONAL = ("events", "proxy")
_EXTRA = "extra."


@door
def save(trajectories: Trajectories, path: Path) -> None:
    """Write one compressed npz; it appears under its name only when it is whole.

    Example:
        >>> import tempfile
        >>> data = Trajectories(x=np.zeros((2, 4, 1)), y=np.zeros(2), sample_rate=1.0, channels=("a",))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(data, Path(folder) / "data.npz")
        ...     load(Path(folder) / "data.npz").channels
        ('a',)
    """
    arrays: dict[str, Any] = {"x": trajectories.x, "y": trajectories.y}
    arrays |= {
        name: getattr(trajectories, name) for name in _OPTIONAL if getattr(trajectories, name) is not None
    }
    arrays |= {f"{_EXTRA}{name}": array for name, array in trajectories.extra.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ValueError(f"{name} must hold numbers or text, got an array of objects")
    about = {
        "format": TRAJECTORY_FORMAT,
        "sample_rate": trajectories.sample_rate,
        "channels": trajectories.channels,
        "source": trajectories.source,
        "classes": trajectories.classes,
        "options": None if trajectories.options is None else trajectories.options.to_dict(),
    }
    with whole_file(Path(path)) as file:
        np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)


@door
def load(path: Path, *, largest: int | None = None) -> Trajectories:
    """Read what `save` wrote; any other or damaged file is refused by name.

    Args:
        path: of the file.
        largest: bytes that its arrays may take in memory, 4 GiB by default; judged before anything is allocated.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        arrays = read_archive(Path(path), largest)
        about = read_json(str(arrays.pop("about")))
        if about["format"] != TRAJECTORY_FORMAT:
            raise ValueError(f"format must be {TRAJECTORY_FORMAT!r}, got {about['format']!r}")
        if not isinstance(about["channels"], list) or not all(
            isinstance(one, str) for one in about["channels"]
        ):
            raise ValueError(f"channels must be a list of names, got {about['channels']!r:.80}")
        return Trajectories(
            x=arrays.pop("x"),
            y=arrays.pop("y"),
            events=arrays.pop("events", None),
            proxy=arrays.pop("proxy", None),
            sample_rate=about["sample_rate"],
            channels=tuple(about["channels"]),
            source=about["source"],
            # Files from before there were classes have none.
            classes=tuple(about.get("classes", ())),
            extra=_extra(arrays),
            options=None if about.get("options") is None else RecordingOptions.from_dict(about["options"]),
        )
    except KeyError as error:
        raise ValueError(f"{path} is not a file of trajectories: it has no {error}") from error
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is not a file of trajectories, or is damaged: {error}") from error


def _extra(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """What is left of the arrays, by the names that `save` gave it; others could take the place of these."""
    others = [name for name in arrays if not name.startswith(_EXTRA)]
    if others:
        raise ValueError(f"it has arrays that no trajectories have: {', '.join(sorted(others))}")
    return {name.removeprefix(_EXTRA): array for name, array in arrays.items()}
