"""One .mat file of the Bearing Data Center: its drive-end signal and shaft speed."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crest.lab.systems.cwru.files import CWRU
from crest.lab.systems.public_files import RecordingFileError
from crest.recordings.mat_files import mat_arrays, read_mat

# How the centre names drive-end signals: X105_DE_time (data README)
SUFFIX = "_DE_time"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class BearingRecording:
    """The drive-end signal of one .mat file, in g, and the shaft speed if the file has it."""

    path: Path
    key: str
    signal: npt.NDArray[np.float64]
    rpm: float | None


def read_recording(path: Path) -> BearingRecording:
    """The drive-end signal and shaft speed of a .mat file of the Bearing Data Center.

    The variable's number need not be the file's (3001.mat holds X056); if there are several, the file's
    own is taken. Whether the bytes are the right ones is for `crest.lab.systems.cwru.files.check_recordings` to say.
    """
    if not path.is_file():
        raise RecordingFileError([f"{path}: missing"], CWRU.remedy)
    try:
        arrays = {array.name: array for array in mat_arrays(path)}
        content = read_mat(path, list(arrays))
    except ValueError as error:
        raise RecordingFileError([f"{path}: not a readable .mat file ({error})"], CWRU.remedy) from error
    keys = [key for key in arrays if key.endswith(SUFFIX)]
    own = [key for key in keys if path.stem.isdigit() and key == f"X{int(path.stem):03d}{SUFFIX}"]
    chosen = own or keys
    if len(chosen) != 1:
        problem = f"must hold one drive-end signal (X..{SUFFIX}), got {sorted(keys)}"
        raise RecordingFileError([f"{path}: {problem}"], CWRU.remedy)
    signal = content.get(chosen[0], np.empty(0))
    if signal.dtype.kind not in "fiu" or not signal.size or signal.size != max(signal.shape):
        kind = signal.dtype if chosen[0] in content else arrays[chosen[0]].kind
        problem = f"must be one row of numbers, got {kind} {arrays[chosen[0]].shape}"
        raise RecordingFileError([f"{path}: {chosen[0]} {problem}"], CWRU.remedy)
    signal = signal.astype(np.float64).ravel()
    if not np.isfinite(signal).all():
        problem = f"must be finite, got {signal[~np.isfinite(signal)][0]}"
        raise RecordingFileError([f"{path}: {chosen[0]} {problem}"], CWRU.remedy)
    rpm = _rpm(content.get(chosen[0].removesuffix(SUFFIX) + "RPM"))
    return BearingRecording(path=path, key=chosen[0], signal=signal, rpm=rpm)


def _rpm(value: Any) -> float | None:
    """The number in the file's RPM variable, if there is one."""
    number = np.ravel(value)
    if number.size != 1 or number.dtype.kind not in "fiu" or not 0 < number[0] < np.inf:
        return None
    return float(number[0])
