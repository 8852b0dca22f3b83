"""The sixteen CWRU recordings as files: which they are, where they lie, how they get there whole."""

import contextlib
import hashlib
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pooch
from rich.console import Console
from rich.progress import Progress

from crest.lab.systems.cwru.order_tracking import NTN, SKF, Bearing

# The centre's present address and its two former ones; every file is checked, whoever serves it.
MIRRORS = (
    "https://engineering.case.edu/sites/default/files/",
    "https://csegroups.case.edu/sites/default/files/bearingdatacenter/files/Datafiles/",
    "http://csegroups.case.edu/sites/default/files/bearingdatacenter/files/Datafiles/",
)
# Seconds to connect and to wait for bytes; our choice: docs/choices.md#cwru
TIMEOUT = (10, 60)
REMEDY = "run `crest data fetch cwru`, or `crest data fetch cwru --from-dir FOLDER` with files you have"
BY_HAND = (
    "see whether this machine reaches the internet, and run the command again: what is there is not fetched twice. "
    "Or save the files on another machine, and run `crest data fetch cwru --from-dir FOLDER` with their folder"
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


class RecordingFileError(ValueError):
    """A recording's file is missing, damaged or not the right one; the message names it and the remedy."""

    def __init__(self, problems: Sequence[str], remedy: str = REMEDY) -> None:
        super().__init__("\n".join([*problems, f"What to do: {remedy}."]))


class FileState(NamedTuple):
    """What `check_recordings` found about one file: state is "present", "missing" or "corrupt"."""

    file: RecordingFile
    path: Path
    state: str
    detail: str = ""


def data_folder() -> Path:
    """Folder of the recordings: `cwru` inside CREST_DATA or, where that is unset, the user's cache folder.

    CREST_DATA may also be the folder of the .mat files itself.
    """
    root = Path(os.environ.get("CREST_DATA") or pooch.os_cache("crest")).expanduser()
    return root if any((root / file.name).exists() for file in RECORDINGS) else root / "cwru"


def file_state(path: Path, file: RecordingFile) -> FileState:
    """State of one path, judged by size and SHA-256."""
    if not path.is_file():
        return FileState(file, path, "missing", f"{path}: missing")
    size = path.stat().st_size
    if size < file.size:
        return FileState(file, path, "corrupt", f"{path}: truncated, got {size} of {file.size} bytes")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != file.sha256:
        problem = f"{path}: wrong checksum, got SHA-256 {digest}, expected {file.sha256}"
        return FileState(file, path, "corrupt", problem)
    return FileState(file, path, "present")


def check_recordings(
    folder: Path | str | None = None, recordings: Sequence[RecordingFile] = RECORDINGS
) -> list[FileState]:
    """State of every recording in the folder: present (and right), missing or corrupt.

    Example:
        >>> {found.state for found in check_recordings(Path("no such folder"))}
        {'missing'}
    """
    folder = Path(folder or data_folder())
    return [file_state(folder / file.name, file) for file in recordings]


def require_recordings(
    folder: Path | str | None = None, recordings: Sequence[RecordingFile] = RECORDINGS
) -> Path:
    """The folder, after a check of its recordings: raises a RecordingFileError that lists those which are not right."""
    folder = Path(folder or data_folder())
    problems = [found.detail for found in check_recordings(folder, recordings) if found.state != "present"]
    if problems:
        raise RecordingFileError(_in_short(folder, problems, recordings))
    return folder


def _in_short(folder: Path, problems: Sequence[str], recordings: Sequence[RecordingFile]) -> Sequence[str]:
    """One line where a folder has no recording at all: the wrong folder needs no list of files."""
    if len(recordings) < 2 or any((folder / file.name).exists() for file in recordings):
        return problems
    return [
        f"{folder}: has none of the {len(recordings)} recordings, {recordings[0].name} to {recordings[-1].name}"
    ]


def fetch_recordings(
    folder: Path | str | None = None,
    from_dir: Path | str | None = None,
    mirrors: Sequence[str] = MIRRORS,
    progress: bool = True,
    recordings: Sequence[RecordingFile] = RECORDINGS,
) -> Path:
    """The folder, with every recording in it: copied from `from_dir`, or downloaded.

    Each file comes from the first mirror that has it right. Files that are there and right are left alone, so
    a broken run is taken up where it stopped. A file gets its name only after its SHA-256 agreed.
    """
    if from_dir is not None and not Path(from_dir).is_dir():
        raise FileNotFoundError(f"from_dir must be a folder with the .mat files, {from_dir} is none")
    folder = Path(folder or data_folder())
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [found.file for found in check_recordings(folder, recordings) if found.state != "present"]
    problems: list[str] = []
    with Progress(console=Console(stderr=True), disable=not progress) as bars:
        task = bars.add_task("CWRU", total=sum(file.size for file in wanted))
        for file in wanted:
            bars.update(task, description=f"CWRU {file.name}")
            if from_dir is not None:
                problems += _copy(Path(from_dir) / file.name, folder / file.name, file)
            else:
                _download(folder, file, mirrors)
            bars.update(task, advance=file.size)
    if problems and from_dir is not None:
        raise RecordingFileError(_in_short(Path(from_dir), problems, wanted))
    return folder


def _copy(source: Path, target: Path, file: RecordingFile) -> list[str]:
    """What is wrong with the source; nothing if it was copied."""
    found = file_state(source, file)
    if found.state != "present":
        return [found.detail]
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        shutil.copyfile(source, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return []


@contextlib.contextmanager
def _quiet_pooch() -> Iterator[None]:
    """Without pooch's own lines, which would tear the progress bar."""
    logger, level = pooch.get_logger(), pooch.get_logger().level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _download(folder: Path, file: RecordingFile, mirrors: Sequence[str]) -> None:
    """The file, from the first mirror that serves the right bytes."""
    problems = []
    for mirror in mirrors:
        url = mirror.rstrip("/") + "/" + file.name
        loader = pooch.HTTPDownloader(timeout=TIMEOUT)
        try:
            with _quiet_pooch():
                # pooch writes to a temporary name and renames once the checksum agrees
                pooch.retrieve(url, f"sha256:{file.sha256}", fname=file.name, path=folder, downloader=loader)
            return
        # requests' errors are OSErrors; pooch's wrong checksum is a ValueError
        except (OSError, ValueError) as error:
            problems.append(f"  {url}: {_in_a_line(error)}")
    tried = f"{folder / file.name}: could not be downloaded; tried {len(mirrors)} addresses"
    raise RecordingFileError([tried, *problems], BY_HAND)


def _in_a_line(error: Exception) -> str:
    """Why a download failed. Of errors around errors, the innermost one says it: the others tell how it was tried."""
    inner: object = error
    while (arguments := getattr(inner, "args", ())) and isinstance(
        deeper := getattr(arguments[0], "reason", arguments[0]), Exception
    ):
        inner = deeper
    words = str(inner)
    # urllib3 begins with the connection, whose address stands in front already.
    return words.rpartition("): ")[2] if words.startswith("HTTP") else words
