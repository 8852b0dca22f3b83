"""Tables of recordings for tests, and one way to load them."""

from pathlib import Path

import numpy as np

from crest.recordings import load_recordings
from crest.recordings.trajectories import Trajectories


def table(folder: Path, *lines: str) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def load(path: Path) -> Trajectories:
    return load_recordings(
        path, window=8, hop=6, sample_rate=10, condition="speed", proxy="cue", events="events", channels=["a"]
    )


def mat73(path: Path, **arrays: np.ndarray) -> Path:
    """A .mat file as MATLAB writes it with -v7.3: HDF5 behind 512 bytes of its own, with a text and a struct beside."""
    import h5py  # noqa: PLC0415

    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            stored = np.ascontiguousarray(array.T)
            if stored.dtype.kind == "c":
                stored = stored.view([("real", stored.real.dtype), ("imag", stored.real.dtype)])
            file.create_dataset(name, data=stored).attrs["MATLAB_class"] = np.bytes_("double")
        text = file.create_dataset("text", data=np.array([[97], [98]], np.uint16))
        text.attrs["MATLAB_class"] = np.bytes_("char")
        file.create_group("struct").attrs["MATLAB_class"] = np.bytes_("struct")
    with path.open("r+b") as content:
        content.write(b"MATLAB 7.3 MAT-file, for a test".ljust(124) + b"\x00\x02IM")
    return path
