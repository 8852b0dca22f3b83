"""One signal from one file: arrays, tables of numbers or sound, as float32 samples (T, C)."""

import contextlib
import fnmatch
import io
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crest._base.doors import door_leaving
from crest.recordings.archives import read_archive, read_npy, require_room
from crest.recordings.mat_files import mat_arrays, read_mat
from crest.recordings.optional import optional_module
from crest.recordings.parquet_files import read_parquet
from crest.recordings.selection import ColumnSelection, Content, Signal, chosen_columns
from crest.recordings.text_files import read_text
from crest.recordings.wfdb_files import read_wfdb


@door_leaving("columns")
def read_signal(
    path: str | os.PathLike[str],
    key: str | None = None,
    *,
    columns: Sequence[str | int] | None = None,
    time: str | int | bool = True,
    largest: int | None = None,
) -> Signal:
    """Samples (T, C) of one file, with its sample rate and channel names if it carries them.

    Args:
        path: The suffix says how to read it. `.csv` and `.txt`: one row per sample, one column per channel, with
            or without one line of names; commas, semicolons, tabs or spaces separate, and numbers may have decimal
            commas if a comma does not. `.parquet` needs pyarrow, a .mat file of version 7.3 needs h5py. `.wav`:
            integers are scaled to [-1, 1]. `.hea`: the header of a WFDB record, with its signal files in the same
            folder; needs wfdb. Nothing is ever unpickled.
        key: Which array of a .npz or .mat file; may be a pattern that fits one name ("*_DE_time"). Needed
            only if there are several.
        columns: Which columns are the channels, in this order, by name or by number from 0. By default all but the
            time.
        time: The column with the time of each sample, by name or by number, in seconds unless its name says
            another unit ("time_ms"). It tells the sample rate and is no channel. By default it is found by its
            name, or because the first column, and no other, rises by equal steps. False: there is none.
        largest: Bytes that the file's content may take in memory, 4 GiB by default. It is judged before
            anything is allocated: a small compressed file can stand for terabytes.

    Raises:
        ValueError: The file is missing, damaged, of another kind, or holds no finite signal; the message
            gives the reason without the path, for the caller to place.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.save(Path(folder) / "a.npy", np.arange(5))
        ...     read_signal(Path(folder) / "a.npy").samples.shape
        (5, 1)
    """
    path = Path(path)
    selection = ColumnSelection.checked(key, columns, time, largest)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"file must end in {', '.join(_READERS)}, got {path.name or str(path)!r}")
    with reading("file", path):
        found = chosen_columns(reader(path, selection), selection)
    return found._replace(samples=as_samples(found.samples, path.name))


@contextlib.contextmanager
def reading(what: str, path: Path) -> Iterator[None]:
    """What goes wrong in the block is a ValueError about this file, but for a package that is missing."""
    require_file(what, path)
    try:
        yield
    except ImportError:
        raise
    except Exception as error:  # damaged files make the readers raise almost anything
        raise ValueError(
            f"{what} {path.name!r} cannot be read: {str(error) or type(error).__name__}"
        ) from error


def require_file(what: str, path: Path) -> None:
    r"""Raise a ValueError if there is no such file, or if no file can have this name.

    Example:
        >>> require_file("file", Path("a\0b"))
        Traceback (most recent call last):
        ValueError: file 'a\x00b' does not exist
    """
    try:
        there = path.is_file()
    except (OSError, ValueError) as error:  # too long, with a NUL, in a folder that is closed to us
        raise ValueError(f"{what} {str(path)!r} cannot be read: {error}") from error
    if not there:
        raise ValueError(f"{what} {str(path)!r} does not exist")


def as_samples(array: npt.NDArray[Any], name: str) -> npt.NDArray[np.float32]:
    """The array as float32 (T, C), after a check that it is a finite signal.

    Example:
        >>> as_samples(np.array([1, 2, 3]), "a.npy").tolist()
        [[1.0], [2.0], [3.0]]
    """
    if array.dtype.kind not in "iuf":
        raise ValueError(f"file {name!r} must hold real numbers, got {array.dtype}")
    if array.ndim not in (1, 2):
        raise ValueError(f"file {name!r} must have shape (T,) or (T, C), got {array.shape}")
    if array.size == 0:
        raise ValueError(f"file {name!r} must hold samples, got none")
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is reported as such
        samples = np.ascontiguousarray(array.reshape(len(array), -1), dtype=np.float32)
    bad = ~np.isfinite(samples)
    if bad.any():
        sample, channel = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"file {name!r} must be finite in float32, got {bad.sum()} NaN or infinite values, "
            f"the first at sample {sample} of channel {channel}"
        )
    return samples


def _chosen(names: Iterable[str], key: str | None) -> str:
    """The one name that `key` means, or the only one there is."""
    names = list(names)
    if key is not None and key in names:
        return key
    fitting = names if key is None else fnmatch.filter(names, key)
    if len(fitting) != 1:
        asked = "key must name one array if there are several" if key is None else f"key {key!r} fits"
        count = "" if key is None else f" {len(fitting)} arrays"
        raise ValueError(f"{asked}{count}; the file holds {', '.join(names) or 'nothing'}")
    return fitting[0]


def _npy(path: Path, selection: ColumnSelection) -> Content:
    return Content(read_npy(path, selection.largest))


def _npz(path: Path, selection: ColumnSelection) -> Content:
    (array,) = read_archive(path, selection.largest, lambda names: [_chosen(names, selection.key)]).values()
    return Content(array)


def _mat(path: Path, selection: ColumnSelection) -> Content:
    name = _chosen([array.name for array in mat_arrays(path)], selection.key)
    arrays = read_mat(path, [name], selection.largest)
    if name not in arrays:
        raise ValueError(f"{name} is no array of numbers")
    # MATLAB has no vectors: a row (1, T) and a column (T, 1) both mean a signal (T,).
    return Content(arrays[name].squeeze())


def _wav(path: Path, selection: ColumnSelection) -> Content:
    wavfile = optional_module("scipy.io.wavfile", "a .wav file")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        # Samples of a byte become eight of them.
        require_room({path.name: 8 * size}, selection.largest)
        # SciPy gets these bytes and no file: it would allocate what the file's chunks ask for.
        content = io.BytesIO(file.read(size))
    with warnings.catch_warnings():
        # Chunks of other programs are harmless; a file that ends too early is not.
        warnings.simplefilter("ignore", wavfile.WavFileWarning)
        warnings.filterwarnings("error", message="Reached EOF prematurely")
        rate, array = wavfile.read(content)
    if array.dtype == np.uint8:  # 8-bit sound is unsigned, with silence at 128
        array = (array.astype(np.float32) - 128) / 128
    elif array.dtype.kind == "i":
        array = array.astype(np.float64) / -float(np.iinfo(array.dtype).min)
    return Content(array, sample_rate=float(rate))


_READERS: dict[str, Callable[[Path, ColumnSelection], Content]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".mat": _mat,
    ".csv": read_text,
    ".txt": read_text,
    ".parquet": read_parquet,
    ".wav": _wav,
    ".hea": read_wfdb,
}
