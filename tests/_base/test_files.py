"""A file is there whole or not at all: through errors, kills, full disks and sweeps."""

import errno
import fcntl
import os
import resource
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import crest._base.files
from crest._base.files import PARTIAL, held_folder, sweep_partials, whole_file

# Loads the one module by its path, without the seconds that torch takes.
WRITER = """
import importlib.util, pathlib, sys
spec = importlib.util.spec_from_file_location("files", sys.argv[1])
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)
with files.whole_file(pathlib.Path(sys.argv[2])) as file:
    file.write(b"half")
    file.flush()
    print("half", flush=True)
    sys.stdin.readline()
    file.write(b" and half")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(b"old")
    return tmp_path / "file"


@pytest.fixture
def writer(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that is in the middle of writing the file."""
    program = [sys.executable, "-c", WRITER, crest._base.files.__file__, str(path)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        yield process
        process.kill()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def write(path: Path, content: bytes) -> None:
    with whole_file(path) as file:
        file.write(content)


def test_the_name_changes_hands_when_the_block_ends(path: Path) -> None:
    with whole_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(path.parent) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_ends_badly_changes_nothing(path: Path, error: type[BaseException]) -> None:
    def fails(file: Path) -> None:
        with whole_file(file) as opened:
            opened.write(b"new")
            raise error

    for target in (path, path.with_name("other")):
        with pytest.raises(error):
            fails(target)
        assert names(path.parent) == ["file"]
        assert path.read_bytes() == b"old"


@pytest.mark.parametrize("error", [OSError("torn"), OSError(errno.ENOSPC, "full", "there")], ids=repr)
def test_an_error_that_says_where_or_nothing_stays_as_it_is(path: Path, error: OSError) -> None:
    with pytest.raises(OSError, match=r"torn|full") as told, whole_file(path):
        raise error
    assert told.value is error


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        write(tmp_path / "nowhere" / "file", b"new")


def test_a_folder_in_the_place_of_the_file_stays(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError, match=r"is a folder: name a file in it: .*file"):
        write(tmp_path / "file", b"new")
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_the_file_has_the_rights_of_any_other(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write(path, b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_the_umask_is_not_touched(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It belongs to the whole process: two threads that set and restore it may leave it changed.
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("umask set"))
    write(path, b"new")


def test_bytes_and_name_are_flushed_to_the_disk_in_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    fsync, replace = os.fsync, os.replace

    def seen_fsync(handle: int) -> None:
        about = os.fstat(handle)
        done.append("folder" if stat.S_ISDIR(about.st_mode) else f"{about.st_size} bytes")
        fsync(handle)

    def seen_replace(source: Path, target: Path) -> None:
        done.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", seen_fsync)
    monkeypatch.setattr(os, "replace", seen_replace)
    write(path, b"content")
    assert done == ["7 bytes", "name", "folder"]


@pytest.mark.parametrize("size", [2000, 2_000_000], ids=["in one buffer", "over many"])
def test_no_room_for_the_bytes(path: Path, size: int) -> None:
    # Python ignores the signal of this limit, so it shows as an error of the write, as a full disk does.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        write(path, b"fits")
        with pytest.raises(OSError) as caught:  # noqa: PT011
            write(path, bytes(size))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert names(path.parent) == ["file"]
    assert path.read_bytes() == b"fits"
    write(path, bytes(size))
    assert path.read_bytes() == bytes(size)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_disk_that_is_found_full_late(path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fails(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, step, fails)
    with pytest.raises(OSError, match="no space"):
        write(path, b"new")
    assert names(path.parent) == ["file"]
    assert path.read_bytes() == b"old"


def test_a_living_writer_is_not_swept(path: Path, writer: "subprocess.Popen[str]") -> None:
    assert sweep_partials(path.parent) == []
    assert path.read_bytes() == b"old"
    writer.communicate("go on\n")
    assert writer.returncode == 0
    assert path.read_bytes() == b"half and half"
    assert names(path.parent) == ["file"]


def test_a_writer_in_this_process_is_not_swept(path: Path) -> None:
    with whole_file(path) as file:
        file.write(b"new")
        assert sweep_partials(path.parent) == []
    assert path.read_bytes() == b"new"


def test_what_a_killed_writer_left_is_swept(path: Path, writer: "subprocess.Popen[str]") -> None:
    writer.kill()
    writer.wait()
    assert path.read_bytes() == b"old"
    [left] = [entry for entry in path.parent.iterdir() if entry != path]
    assert left.name.startswith(".file.")
    assert left.name.endswith(PARTIAL)
    assert left.read_bytes() == b"half"
    assert sweep_partials(path.parent) == [left]
    assert names(path.parent) == ["file"]
    write(path, b"new")
    assert path.read_bytes() == b"new"


def test_only_hidden_partial_files_are_swept(tmp_path: Path) -> None:
    kept = ["a.json", "a.partial", ".hidden", ".a.partial.bak"]
    for name in (*kept, ".a.0.partial"):
        (tmp_path / name).touch()
    (tmp_path / ".folder.partial").mkdir()
    assert sweep_partials(tmp_path) == [tmp_path / ".a.0.partial"]
    assert names(tmp_path) == sorted([*kept, ".folder.partial"])


def in_between(monkeypatch: pytest.MonkeyPatch, module: object, name: str, act: Callable[[], object]) -> None:
    """Let the next call of a function happen just after something else did."""
    real = getattr(module, name)

    def interrupted(*arguments: object) -> object:
        monkeypatch.setattr(module, name, real)
        act()
        return real(*arguments)

    monkeypatch.setattr(module, name, interrupted)


def test_a_sweep_between_the_making_of_a_file_and_its_lock(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = []
    in_between(monkeypatch, fcntl, "flock", lambda: swept.extend(sweep_partials(path.parent)))
    write(path, b"new")
    assert len(swept) == 1
    assert path.read_bytes() == b"new"
    assert names(path.parent) == ["file"]


def test_a_sweep_just_before_the_renaming(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_between(monkeypatch, os, "replace", lambda: sweep_partials(path.parent))
    write(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_file_that_is_finished_while_a_sweep_looks_at_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = path.with_name(f".file.0{PARTIAL}")
    partial.write_bytes(b"new")

    def finished() -> None:
        os.replace(partial, path)
        partial.write_bytes(b"the next writer's")

    in_between(monkeypatch, fcntl, "flock", finished)
    assert sweep_partials(path.parent) == []
    assert path.read_bytes() == b"new"
    assert partial.read_bytes() == b"the next writer's"


def test_where_there_are_no_locks_files_are_written_and_none_is_swept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", fails)
    with whole_file(path) as file:
        file.write(b"new")
        assert sweep_partials(path.parent) == []
    assert path.read_bytes() == b"new"


def test_a_lock_that_fails_otherwise_is_told_and_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(handle: int, operation: int) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(OSError, match="broken"):
        write(path, b"new")
    assert names(path.parent) == ["file"]
    assert path.read_bytes() == b"old"


# -- folders that a kill does not leave behind

HOLD = """
import sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from crest._base.files import held_folder
with held_folder("crest-test-") as folder:
    (folder / "large").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_a_held_folder_goes_with_its_block_and_an_error_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with held_folder("crest-test-") as one, held_folder("crest-test-") as two:
        assert one != two
        assert sorted(tmp_path.iterdir()) == sorted([one, two])
        (one / "deep").mkdir()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyError), held_folder("crest-test-"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_the_next_held_folder_removes_those_of_the_killed_and_of_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
        )
        for _ in range(2)
    ]
    try:
        killed, living = (Path(process.stdout.readline().strip()) for process in processes)  # type: ignore[union-attr]
        processes[0].kill()
        processes[0].wait()
        (tmp_path / "crest-test-empty").mkdir()
        (tmp_path / "crest-test-file").touch()
        (tmp_path / "crest-test-link").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").mkdir()
        with held_folder("crest-test-") as own:
            left = {path.name for path in tmp_path.iterdir()}
        assert left == {living.name, own.name, "crest-test-file", "crest-test-link", "elsewhere"}
        assert not killed.exists()
        assert (living / "large").exists()
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_folder_that_was_swept_before_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make, made = tempfile.mkdtemp, []

    def unlucky(prefix: str) -> str:
        made.append(make(prefix=prefix))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", unlucky)
    with held_folder("crest-test-") as folder:
        assert str(folder) == made[1]
        assert folder.is_dir()


def test_a_folder_that_was_swept_between_opening_and_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock, locked = fcntl.flock, []

    def unlucky(handle: int, operation: int) -> None:
        locked.append(handle)
        if len(locked) == 1:
            (swept,) = tmp_path.iterdir()
            swept.rmdir()
        lock(handle, operation)

    monkeypatch.setattr(crest._base.files.fcntl, "flock", unlucky)
    with held_folder("crest-test-") as folder:
        assert folder.is_dir()
        assert len(locked) == 2
