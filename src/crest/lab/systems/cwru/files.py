"""The sixteen CWRU recordings: which they are, and their files as those of a public data set."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from crest.lab.systems.cwru.order_tracking import NTN, SKF, Bearing
from crest.lab.systems.public_files import (
    DataSet,
    FileState,
    RecordingFileError,
    check_files,
    fetch_files,
    folder_of,
    require_files,
)

__all__ = [
    "CWRU",
    "MIRRORS",
    "RECORDINGS",
    "RecordingFile",
    "RecordingFileError",
    "check_recordings",
    "data_folder",
    "fetch_recordings",
    "require_recordings",
]

# The centre's present address and its two former ones; every file is checked, from each of them.
MIRRORS = (
    "https://engineering.case.edu/sites/default/files/",
    "https://csegroups.case.edu/sites/default/files/bearingdatacenter/files/Datafiles/",
    "http://csegroups.case.edu/sites/default/files/bearingdatacenter/files/Datafiles/",
)


class RecordingFile(NamedTuple):
    """One recording: the centre's number, fault diameter in inches, motor load in hp, the file's bytes."""

    number: int
    diameter: float
    load: int
    bearing: Bearing
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """The file's name at the centre."""
        return f"{self.number}.mat"


# Checksums: SHA256SUMS beside the files that the project was developed on.
_ROWS = (
    (105, 0.007, 0, SKF, 2910768, "f80b0ea04fd06b372a0eaec7c056543ea37e4bb4727a5b173d2a5bacd2aa9cab"),
    (106, 0.007, 1, SKF, 2928192, "e5cec7cdd138e6cd1deb9ed8634e5aaa9bc1bd7094ddc075bff606580eb6e883"),
    (107, 0.007, 2, SKF, 2931672, "111ba8996a115684661a13c913bd74d8029a59294492f88aec7b03e175fdd388"),
    (108, 0.007, 3, SKF, 2950416, "d415f0e65128bfa0b118c2051c988fb0dc6ce3e4c8aa45fdc5ad1d0967462e7d"),
    (169, 0.014, 0, SKF, 2924712, "f5448673725c4ea2735fe7d3fe4b16ad82b217eac6b62c4bf351c4549b0a5229"),
    (170, 0.014, 1, SKF, 2924712, "bcb73a5208b67265468232a2e342f53719850901671d0ee28494f3af97621f46"),
    (171, 0.014, 2, SKF, 2924712, "63d0fdc1a68e64610ddfaf56a9c224d6137ab7b5c0d318eea1d542b9e5ffc029"),
    (172, 0.014, 3, SKF, 2921232, "f75170ceef70d5da475671de0d2e52a0acd9b3883ad422b6deaf2907d888ba24"),
    (209, 0.021, 0, SKF, 2931672, "9f723d6d9d2eba714c6dc50f99321dffa73d8b1e4d3605675b2c2251511eff80"),
    (210, 0.021, 1, SKF, 2917752, "596692397e77e129a00f7b7a61c4c3ffd6c7a59979b89039e7f70a7431cce1c7"),
    (211, 0.021, 2, SKF, 2924712, "8296a02ee489c2d16cbd9fc278ca2e29b22475cec70ebe840558c78b6b743dc1"),
    (212, 0.021, 3, SKF, 2928192, "bfe13761f545a26b217db897a12d27e16fec74306aa86ade8dbdc8ebe587c253"),
    (3001, 0.028, 0, NTN, 966608, "2e7400f922b75888dbee1fc3ab8c7cd770822127aa97353b7b622de103e79d46"),
    (3002, 0.028, 1, NTN, 971008, "13556b993e01d95a48c6693f592bbea4da2252c99eb94d2f4a0961d8b3af033a"),
    (3003, 0.028, 2, NTN, 971008, "ef7ebceaee0a1da63c6da18f227e3582d6c626dbce2d84a06674872645cb8272"),
    (3004, 0.028, 3, NTN, 972480, "5c0a940bcef2b4850c826f3480f493ea69c68a09b79a70e79c7fa5cb39020c32"),
)
RECORDINGS = tuple(RecordingFile(*row) for row in _ROWS)
CWRU = DataSet(
    name="cwru",
    title="Case Western Reserve University Bearing Data Center",
    what="16 drive-end vibration recordings of inner-race bearing faults, 12 kHz, four sizes at four motor loads",
    licence="none stated with the data",
    cite="Bearing Data Center, Case Western Reserve University",
    addresses=MIRRORS,
    files=RECORDINGS,
    noun="recordings",
)
"""The recordings as a public data set."""


def data_folder() -> Path:
    """Folder of the recordings: `cwru` inside CREST_DATA or, if that is unset, the user's cache folder.

    CREST_DATA may also be the folder of the .mat files itself.
    """
    return folder_of(CWRU)


def check_recordings(
    folder: Path | str | None = None, recordings: Sequence[RecordingFile] = RECORDINGS
) -> list[FileState]:
    """State of every recording in the folder: present (and right), missing or corrupt.

    Example:
        >>> {found.state for found in check_recordings(Path("no such folder"))}
        {'missing'}
    """
    return check_files(_only(recordings), folder or data_folder())


def require_recordings(
    folder: Path | str | None = None, recordings: Sequence[RecordingFile] = RECORDINGS
) -> Path:
    """The folder, after a check of its recordings: raises a RecordingFileError that lists those which are not right."""
    return require_files(_only(recordings), folder or data_folder())


def fetch_recordings(
    folder: Path | str | None = None,
    from_dir: Path | str | None = None,
    mirrors: Sequence[str] = MIRRORS,
    progress: bool = True,
    recordings: Sequence[RecordingFile] = RECORDINGS,
) -> Path:
    """The folder, with every recording in it: copied from `from_dir`, or downloaded from the first mirror that has it right."""
    data = dataclasses.replace(_only(recordings), addresses=tuple(mirrors))
    return fetch_files(data, folder or data_folder(), from_dir, progress)


def _only(recordings: Sequence[RecordingFile]) -> DataSet:
    return dataclasses.replace(CWRU, files=tuple(recordings))
