"""Files of public data sets: which they are, where they lie, how they get there whole."""

import contextlib
import dataclasses
import hashlib
import importlib.resources
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import pooch
import requests
from rich.console import Console
from rich.progress import Progress

if sys.platform != "win32":
    import fcntl

# Seconds to connect and to wait for bytes; our choice: docs/evidence/choices.md#cwru
TIMEOUT = (10, 60)
# Bytes that are written at once: a download that breaks off loses at most these.
_CHUNK = 2**14


@runtime_checkable
class PublicFile(Protocol):
    """What a data set knows about each of its files."""

    @property
    def name(self) -> str:
        """The file's name, at its address and in the folder."""

    @property
    def size(self) -> int:
        """Its bytes."""

    @property
    def sha256(self) -> str | None:
        """Its SHA-256. None: size and checksum are not compared."""


class DataFile(NamedTuple):
    """One file of a data set.

    A file that users build themselves may differ in its bytes and still hold the same data. It has sha256 None: its
    size and checksum are not compared, and it cannot be downloaded.
    """

    name: str
    size: int = 0
    sha256: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSet:
    """A public data set: what it is, how it may be used, and its files."""

    name: str
    """Its name on the command line, and that of its folder."""
    title: str
    """Its full name."""
    what: str
    """What it holds, in one line."""
    licence: str
    """What its authors say about its use."""
    cite: str
    """What to cite."""
    addresses: tuple[str, ...]
    """Where its files are served; each is tried in turn. None: files are placed by hand."""
    files: tuple[PublicFile, ...]
    """The files that the package reads."""
    by_hand: str = ""
    """What to do if there is no address."""
    noun: str = "files"
    """What messages call its files."""

    def __post_init__(self) -> None:
        unknown = [file.name for file in self.files if file.sha256 is None]
        if self.addresses and unknown:
            raise ValueError(f"files must have a SHA-256 to be downloaded, got none for {unknown[0]}")
        if not self.addresses and not self.by_hand:
            raise ValueError(f"by_hand must say how to get {self.name}, which has no address, got ''")

    @property
    def remedy(self) -> str:
        """What to do if files are missing or wrong."""
        if not self.addresses:
            return self.by_hand
        fetch = f"crest data fetch {self.name}"
        return f"run `{fetch}`, or `{fetch} --from-dir FOLDER` with files you have"


class RecordingFileError(ValueError):
    """A file is missing, damaged or not the right one; the message names it and the remedy."""

    def __init__(self, problems: Sequence[str], remedy: str) -> None:
        super().__init__("\n".join([*problems, f"What to do: {remedy}."]))


class FileState(NamedTuple):
    """What `check_files` found about one file: state is "present", "missing" or "corrupt"."""

    file: PublicFile
    path: Path
    state: str
    detail: str = ""


def listed_files(name: str) -> tuple[DataFile, ...]:
    """The files of a data set whose table comes with the package: a line has SHA-256, size and name of each.

    Example:
        >>> [file.name for file in listed_files("hitsm")][:2]
        ['IR2_1200.mat', 'IR2_600.mat']
    """
    table = importlib.resources.files("crest.lab.systems") / "checksums" / f"{name}.txt"
    rows = (line.split() for line in table.read_text(encoding="utf-8").splitlines())
    return tuple(DataFile(file, int(size), sha256) for sha256, size, file in rows)


def folder_of(data: DataSet) -> Path:
    """Folder of the files: the data set's name inside CREST_DATA or, if that is unset, the user's cache folder.

    CREST_DATA may also be the folder of the files itself.
    """
    root = Path(os.environ.get("CREST_DATA") or pooch.os_cache("crest")).expanduser()
    return root if any((root / file.name).exists() for file in data.files) else root / data.name


def file_state(path: Path, file: PublicFile) -> FileState:
    """State of one path, judged by size and SHA-256; a file without a SHA-256 only has to be there."""
    if not path.is_file():
        return FileState(file, path, "missing", f"{path}: missing")
    size = path.stat().st_size
    if file.sha256 is not None and size < file.size:
        return FileState(file, path, "corrupt", f"{path}: truncated, got {size} of {file.size} bytes")
    problem = _wrong_checksum(path, file)
    return (
        FileState(file, path, "corrupt", f"{path}: {problem}")
        if problem
        else FileState(file, path, "present")
    )


def _wrong_checksum(path: Path, file: PublicFile) -> str:
    """What is wrong with the bytes; empty if nothing is."""
    if file.sha256 is None:
        return ""
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return "" if digest == file.sha256 else f"wrong checksum, got SHA-256 {digest}, expected {file.sha256}"


def check_files(data: DataSet, folder: Path | str | None = None) -> list[FileState]:
    """State of every file in the folder: present (and right), missing or corrupt."""
    folder = Path(folder or folder_of(data))
    return [file_state(folder / file.name, file) for file in data.files]


def require_files(data: DataSet, folder: Path | str | None = None) -> Path:
    """The folder, after a check of its files: raises a RecordingFileError that lists those which are not right."""
    folder = Path(folder or folder_of(data))
    problems = [found.detail for found in check_files(data, folder) if found.state != "present"]
    if problems:
        raise RecordingFileError(_in_short(folder, problems, data, data.files), data.remedy)
    return folder


def _in_short(
    folder: Path, problems: Sequence[str], data: DataSet, files: Sequence[PublicFile]
) -> Sequence[str]:
    """One line if a folder has no file at all: the wrong folder needs no list of files."""
    if len(files) < 2 or any((folder / file.name).exists() for file in files):
        return problems
    return [f"{folder}: has none of the {len(files)} {data.noun}, {files[0].name} to {files[-1].name}"]


def fetch_files(
    data: DataSet,
    folder: Path | str | None = None,
    from_dir: Path | str | None = None,
    progress: bool = True,
) -> Path:
    """The folder, with every file in it: copied from `from_dir`, or downloaded.

    Each file comes from the first address that has it right. Files that are there and right are left alone, and a
    download that broke off goes on from what it has if the server can. A file gets its name only after its
    SHA-256 agreed.
    """
    if from_dir is not None and not Path(from_dir).is_dir():
        kinds = ", ".join(sorted({Path(file.name).suffix for file in data.files}))
        raise FileNotFoundError(f"from_dir must be a folder with the {kinds} files, {from_dir} is none")
    folder = Path(folder or folder_of(data))
    folder.mkdir(parents=True, exist_ok=True)
    with _alone_in(folder):
        wanted = [found.file for found in check_files(data, folder) if found.state != "present"]
        if wanted and from_dir is None and not data.addresses:
            require_files(data, folder)
        problems = _fetch(wanted, data, folder, Path(from_dir) if from_dir is not None else None, progress)
    if problems and from_dir is not None:
        raise RecordingFileError(_in_short(Path(from_dir), problems, data, wanted), data.remedy)
    return folder


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process fetches into the folder: two would write to the same `.part` file."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        # A file system without locks: go on as if alone. The checksums still find what went wrong.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _fetch(
    wanted: Sequence[PublicFile], data: DataSet, folder: Path, from_dir: Path | None, progress: bool
) -> list[str]:
    """What is wrong with files in `from_dir`; nothing if all were copied or downloaded."""
    problems: list[str] = []
    label, done = data.name.upper(), 0
    with Progress(console=Console(stderr=True), disable=not progress) as bars:
        task = bars.add_task(label, total=sum(file.size for file in wanted))

        def told(size: int) -> None:
            bars.update(task, completed=done + size)

        for file in wanted:
            bars.update(task, description=f"{label} {file.name}")
            if from_dir is not None:
                problems += _copy(from_dir / file.name, folder / file.name, file)
            else:
                _download(data, folder, file, told)
            told(file.size)
            done += file.size
    return problems


def _copy(source: Path, target: Path, file: PublicFile) -> list[str]:
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


def _download(data: DataSet, folder: Path, file: PublicFile, told: Callable[[int], None]) -> None:
    """The file, from the first address that serves the right bytes."""
    target = folder / file.name
    part = target.with_name(f"{file.name}.part")
    problems = []
    for address in data.addresses:
        url = address.rstrip("/") + "/" + file.name
        try:
            problem = _received(url, part, file, told)
        except (
            requests.RequestException
        ) as error:  # what came so far stays, and the next address goes on from there
            problem = _in_a_line(error)
        if not problem:
            part.replace(target)
            return
        problems.append(f"  {url}: {problem}")
    tried = f"{target}: could not be downloaded; tried {len(data.addresses)} addresses"
    raise RecordingFileError([tried, *problems], _after_a_download(data))


def _after_a_download(data: DataSet) -> str:
    return (
        "see whether this machine reaches the internet, and run the command again: what is there is not fetched twice. "
        f"Or save the files on another machine, and run `crest data fetch {data.name} --from-dir FOLDER` with their folder"
    )


def _received(url: str, part: Path, file: PublicFile, told: Callable[[int], None]) -> str:
    """What is wrong with the bytes that came, in which case no `.part` stays; empty if they are right."""
    if part.exists() and part.stat().st_size >= file.size:
        part.unlink()
    continued = part.exists()
    _receive(url, part, told)
    problem = _wrong_checksum(part, file)
    if problem:
        part.unlink()
    if problem and continued:  # the old part was of other bytes
        return _received(url, part, file, told)
    return problem


def _receive(url: str, part: Path, told: Callable[[int], None]) -> None:
    """Append to the `.part` file what is missing; a server that cannot do that sends the whole file."""
    size = part.stat().st_size if part.exists() else 0
    # A range of a compressed response would count the compressed bytes.
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={size}-"} if size else {})}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if size and answer.status_code == requests.codes.requested_range_not_satisfiable:
            return  # the file there is shorter than the part, which the checksum then refuses
        answer.raise_for_status()
        partial = answer.status_code == requests.codes.partial_content
        size = size if partial else 0
        with part.open("ab" if partial else "wb") as file:
            for chunk in answer.iter_content(_CHUNK):
                size += file.write(chunk)
                told(size)


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
