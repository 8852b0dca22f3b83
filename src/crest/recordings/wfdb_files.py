"""WFDB, the format of PhysioNet: records of a header (.hea) with signal files beside it, and annotation files."""

import math
import re
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crest.recordings.archives import require_own_names, require_room
from crest.recordings.optional import optional_module
from crest.recordings.selection import ColumnSelection, Content

# Bytes of one sample in a signal file, by the number of its format (WFDB Applications Guide, signal(5)).
_WIDTHS = {
    "8": Fraction(1),
    "16": Fraction(2),
    "24": Fraction(3),
    "32": Fraction(4),
    "61": Fraction(2),
    "80": Fraction(1),
    "160": Fraction(2),
    "212": Fraction(3, 2),
    "310": Fraction(4, 3),
    "311": Fraction(4, 3),
}
# FLAC: how many samples a byte stands for is not fixed.
_COMPRESSED = {"508", "516", "524"}
# What wfdb accepts as the name of a signal file, and not a path, a URL or "..".
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_]+)?")
# Our choice: a header of 256 signals has some 20 kB, and WFDB's own lines end at 255 characters. wfdb's patterns need
# a time that grows with the square of a line.
_LARGEST_HEADER = 2**16
_LONGEST_LINE = 1000
# Our choice: two million annotations; a day of heart beats has a hundred thousand.
_LARGEST_ANNOTATIONS = 2**22
# Bytes that are copied at a time.
_PIECE = 2**20
# Two dots, so that no signal file of a header can have the name of the copied header.
_COPY = "copied.header"

# Codes of the annotation format that are no annotation (annot(5)).
_NOTE, _SKIP, _AUX = 22, 59, 63
_FIELDS = range(60, 63)
_RESOLUTION = re.compile(r"## time resolution: (\d+\.?\d*)")
_DEFINITION = re.compile(r"(\d+) (\S+) .+")


class Annotations(NamedTuple):
    """What an annotation file holds."""

    samples: npt.NDArray[np.int64]
    symbols: tuple[str, ...]
    """One for each sample; empty for a code that has none."""
    known: frozenset[str]
    """All symbols that the format or the file defines, also those that do not occur."""
    rate: float | None
    """In which `samples` count, if the file says so; else they count those of the signal."""


def read_wfdb(path: Path, selection: ColumnSelection) -> Content:
    """Samples (T, C) of a record in physical units, with the sample rate and the names that its header gives.

    The header is a stranger's: the files that it names must lie beside it, and what it claims is compared with their
    sizes before anything is read. wfdb gets copies in a folder of our own. It would take some paths for addresses
    in a network, and it reads the header once more, which may have changed by then.
    """
    wfdb = optional_module("wfdb", "a WFDB record")
    text = _header_text(path)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / _COPY
        copy.with_name(f"{_COPY}.hea").write_text(text, encoding="ascii")
        header = wfdb.rdheader(str(copy))
        files = _judged_files(header, path.parent, selection.largest)
        for name, size in files.items():
            _copy_start(path.parent / name, copy.with_name(name), size)
        # Gains and offsets of a damaged header may give what no number can hold; that is refused as such.
        with np.errstate(all="ignore"):
            record = wfdb.rdrecord(str(copy))
    return Content(np.asarray(record.p_signal), sample_rate=float(record.fs), names=_names(record.sig_name))


def signal_files(path: Path) -> list[Path]:
    r"""The files that hold the signals of a header, each once.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     header = Path(folder) / "100.hea"
        ...     _ = header.write_text("100 2 360 650000\n100.dat 212 200\n100.dat 212 200\n")
        ...     [one.name for one in signal_files(header)]
        ['100.dat']
    """
    _, *lines = _header_text(path).splitlines()
    return [path.parent / name for name in dict.fromkeys(line.split()[0] for line in lines)]


def read_annotations(path: Path) -> Annotations:
    """The annotations of a file such as 100.atr.

    It is read here and not by wfdb, whose reader never ends at a second note on the whole file.

    Raises:
        ValueError: The file is no annotation file, is damaged, or is too large.
        ImportError: wfdb is missing, which knows the symbols.
    """
    labels = optional_module("wfdb.io.annotation", "an annotation file").ann_labels
    content = _read_start(path, _LARGEST_ANNOTATIONS)
    if len(content) % 2:
        raise ValueError("annotations must have an even number of bytes: damaged, or another format?")
    samples, codes, notes = _decoded(content)
    symbol_of = {label.label_store: label.symbol for label in labels}
    symbol_of |= {int(number): symbol for number, symbol in _defined(notes)}
    rates = [float(match[1]) for note in notes if (match := _RESOLUTION.match(note))]
    if rates and not 0 < rates[0] < math.inf:
        raise ValueError(f"time resolution must be above 0, got {rates[0]:g}")
    return Annotations(
        samples=np.array(samples, dtype=np.int64),
        symbols=tuple(symbol_of.get(code, "") for code in codes),
        known=frozenset(symbol_of.values()),
        rate=rates[0] if rates else None,
    )


def _read_start(path: Path, most: int) -> bytes:
    """All bytes of a file that has at most `most`."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it must have at most {most} bytes")
    return content


def _header_text(path: Path) -> str:
    """The lines of a header that are not comments, after a check that they lead nowhere else."""
    text = _read_start(path, _LARGEST_HEADER).decode("ascii", "ignore")
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if not lines:
        raise ValueError("a WFDB header must have a line on the record, got none")
    if max(map(len, lines)) > _LONGEST_LINE:
        raise ValueError(f"a line of a WFDB header must have at most {_LONGEST_LINE} characters")
    if "/" in lines[0].split()[0]:
        raise ValueError(
            "a WFDB record of several segments is not supported: list its segments as rows of their own"
        )
    for line in lines[1:]:
        _require_plain(line.split()[0])
    return "\n".join(lines) + "\n"


def _require_plain(name: str) -> None:
    if not _PLAIN_NAME.fullmatch(name):
        raise ValueError(f"a signal file must be a plain name in the header's own folder, got {name!r}")


def _judged_files(header: Any, folder: Path, largest: int | None) -> dict[str, int]:
    """The signal files of a header, each with the bytes to read; refused if the claims do not fit the files."""
    count, length = header.n_sig, header.sig_len
    if not count or count != len(header.file_name or ()):
        raise ValueError(
            f"a WFDB header must describe its {count} signals, got {len(header.file_name or ())}"
        )
    if not length:
        raise ValueError("a WFDB header must give the number of samples, got none")
    if not 0 < header.fs < math.inf:
        raise ValueError(f"the sample rate must be above 0, got {header.fs:g}")
    if any(frame not in (None, 1) for frame in header.samps_per_frame):
        raise ValueError(
            "a WFDB record must have one sample per frame in each signal (one sample rate), "
            f"got {', '.join(str(frame or 1) for frame in header.samps_per_frame)}"
        )
    # A skewed signal is read with samples beyond the end of the others.
    frames = length + max(skew or 0 for skew in header.skew)
    require_room({"the signal": 8 * frames * count}, largest)
    files: dict[str, int] = {}
    for name in dict.fromkeys(header.file_name):
        _require_plain(name)
        places = [place for place, other in enumerate(header.file_name) if other == name]
        formats = {(header.fmt[place], header.byte_offset[place] or 0) for place in places}
        if len(formats) > 1:
            raise ValueError(f"signal file {name!r} must have one format, got several")
        files[name] = _bytes_to_read(folder / name, *formats.pop(), length * len(places))
    require_room(files, largest)
    return files


def _bytes_to_read(path: Path, kind: str, offset: int, samples: int) -> int:
    """Bytes of a signal file up to its last sample; refused if it is shorter."""
    if not path.is_file():
        raise ValueError(f"signal file {path.name!r} does not exist beside the header")
    size = path.stat().st_size
    if kind in _COMPRESSED:
        return size
    if kind not in _WIDTHS:
        raise ValueError(
            f"format of {path.name!r} must be one of {', '.join([*_WIDTHS, *sorted(_COMPRESSED)])}, got {kind}"
        )
    needed = offset + math.ceil(samples * _WIDTHS[kind])
    if size < needed:
        raise ValueError(
            f"signal file {path.name!r} must have {needed} bytes for the {samples} samples of the header, got {size}"
        )
    # Format 310 fills its last four bytes.
    return min(size, needed + 3)


def _copy_start(source: Path, target: Path, size: int) -> None:
    with source.open("rb") as file, target.open("wb") as copy:
        # Not `copyfile`: the file may have grown since its size was judged.
        left = size
        while left and (part := file.read(min(left, _PIECE))):
            copy.write(part)
            left -= len(part)


def _names(given: list[str | None]) -> tuple[str, ...]:
    """Names of the signals; those that several signals share get a number, as PhysioNet has "ECG" twice.

    Example:
        >>> _names(["ECG", "ECG", "BP", None])
        ('ECG 0', 'ECG 1', 'BP', 'signal 3')
    """
    names = [
        f"signal {place}" if not name else f"{name} {place}" if given.count(name) > 1 else name
        for place, name in enumerate(given)
    ]
    require_own_names("signals", names)
    return tuple(names)


def _decoded(content: bytes) -> tuple[list[int], list[int], list[str]]:
    """Samples and codes of annotations; and the notes at sample 0, which are no annotations but on the whole file."""
    words = np.frombuffer(content, "<u2").tolist()
    samples: list[int] = []
    codes: list[int] = []
    notes: list[str] = []
    place = time = 0
    try:
        # The word 0 ends the file; without it, the file is cut off.
        while word := words[place]:
            place += 1
            code, value = word >> 10, word & 0x3FF
            if code == _SKIP:
                high, low = words[place], words[place + 1]
                time += (high << 16 | low) - (high >> 15 << 32)
                place += 2
            elif code == _AUX:
                if time == 0 and codes and codes[-1] == _NOTE:
                    start = 2 * place
                    notes.append(content[start : start + (value & 0xFF)].decode("latin-1"))
                place += ((value & 0xFF) + 1) // 2
            elif code not in _FIELDS:
                time += value
                # 0 is no annotation.
                if code:
                    samples.append(time)
                    codes.append(code)
    except IndexError:
        raise ValueError("annotations must end with a word of zeros: damaged, or another format?") from None
    kept = [place for place, code in enumerate(codes) if code != _NOTE or samples[place]]
    return [samples[place] for place in kept], [codes[place] for place in kept], notes


def _defined(notes: list[str]) -> list[tuple[str, str]]:
    """Codes and symbols that the notes of an annotation file define.

    Example:
        >>> _defined(["## annotation type definitions", "42 Z a zigzag", "## end of definitions"])
        [('42', 'Z')]
    """
    return [(match[1], match[2]) for note in notes if (match := _DEFINITION.fullmatch(note))]
