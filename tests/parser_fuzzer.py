"""Files of every kind that is read, damaged at random, in processes with limits: a reader answers or refuses.

    python tests/parser_fuzzer.py --cases 2000 --seed 7        every kind
    python tests/parser_fuzzer.py mat --seed 7 --only 123      one case again, with its traceback

A kind is read in a process of its own, which may take neither much memory nor time; where it dies, the case at which it
did is told. What once failed is made anew by `ONCE` and tried first. Damage is of four sorts (`WAYS`): accidents to bytes, two things
of one name, nesting, and counts that are far too large. One line of JSON per kind comes out.
"""

import argparse
import contextlib
import io
import json
import os
import random
import re
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 30
"""For one file. Sound ones take milliseconds; the rest is for a machine under load."""
MEMORY = 2 * 2**30
"""Bytes that a process may take beyond what it has when it starts."""
LARGEST = 2**24
"""What readers are told that a file may take."""
TAKEN = 6 * LARGEST
"""Bytes that one file may add to what the process holds: the content, copies of it, and what was loaded for it."""


class TooLong(BaseException):
    """A file that keeps its reader busy."""


# -- sound files


def npy() -> bytes:
    with io.BytesIO() as file:
        np.save(file, np.linspace(0, 1, 60, dtype=np.float32).reshape(30, 2))
        return file.getvalue()


def npz(compressed: bool = True) -> bytes:
    with io.BytesIO() as file:
        (np.savez_compressed if compressed else np.savez)(
            file, x=np.arange(40.0), y=np.zeros((3, 2), np.int16)
        )
        return file.getvalue()


def mat(compressed: bool = False) -> bytes:
    from scipy.io import savemat  # noqa: PLC0415

    with io.BytesIO() as file:
        arrays = {"X_DE_time": np.arange(120, dtype=np.float32).reshape(60, 2), "s": {"a": 1.0}, "c": "text"}
        savemat(file, arrays, do_compression=compressed)
        return undated(file.getvalue())


def undated(content: bytes) -> bytes:
    """The same .mat file without the time of day, which its first line tells."""
    return b"MATLAB 5.0 MAT-file".ljust(116) + content[116:]


def wav() -> bytes:
    from scipy.io import wavfile  # noqa: PLC0415

    with io.BytesIO() as file:
        wavfile.write(file, 100, np.arange(80, dtype=np.int16).reshape(40, 2))
        return file.getvalue()


def csv() -> bytes:
    return b"a,b\n" + b"".join(b"%d,%.3f\n" % (step, step / 7) for step in range(30))


def txt() -> bytes:
    rows = (f"{step / 50};{step * step % 7 / 3:.3f}\n" for step in range(30))
    return b"time (s);x\n" + "".join(rows).replace(".", ",").encode()


def signal_parquet() -> bytes:
    import pyarrow  # noqa: PLC0415
    import pyarrow.parquet as written  # noqa: PLC0415

    columns = {
        "when": np.arange(40).astype("datetime64[ms]"),
        "x": np.sin(np.arange(40.0)),
        "y": np.arange(40) % 3,
    }
    with io.BytesIO() as file:
        written.write_table(pyarrow.table(columns), file)
        return file.getvalue()


def mat73() -> bytes:
    import recordings_made  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        return recordings_made.mat73(Path(folder) / "a.mat", x=np.arange(120.0).reshape(60, 2)).read_bytes()


def hea() -> bytes:
    import wfdb  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        signal = np.sin(np.arange(120.0)).reshape(60, 2)
        wfdb.wrsamp("a", 50, ["mV", "mV"], ["x", "y"], signal, fmt=["16", "16"], write_dir=folder)
        return (Path(folder) / "a.hea").read_bytes()


def atr() -> bytes:
    import wfdb  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        samples, symbols = np.array([3, 9, 2000, 90_000]), ["N", "V", "V", "+"]
        wfdb.wrann("a", "atr", samples, symbols, aux_note=["", "", "", "(N"], fs=50, write_dir=folder)
        return (Path(folder) / "a.atr").read_bytes()


def table() -> bytes:
    return b'file,label,speed,events\n"a.npy",0.5,slow,1-3;5-7\nb.npy,1e3,fast,\nc.npy,-1,"f,s",mask.npy\n'


def parquet() -> bytes:
    import pyarrow  # noqa: PLC0415
    import pyarrow.parquet as written  # noqa: PLC0415

    columns = {"file": ["a.npy", "b.npy"], "label": [0.5, 2.0], "speed": [1500, 3], "events": ["1-3", ""]}
    with io.BytesIO() as file:
        written.write_table(pyarrow.table(columns), file)
        return file.getvalue()


def trajectories() -> bytes:
    from crest.recordings import Trajectories, save  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        x = np.arange(24.0).reshape(3, 4, 2)
        save(Trajectories(x=x, y=np.zeros(3), sample_rate=1.0, channels=("a", "b"), source="here"), path)
        return path.read_bytes()


def safetensors() -> bytes:
    from crest.lab.runs.checkpoint import save_checkpoint  # noqa: PLC0415
    from toy import tiny_spec  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path, spec = Path(folder) / "model.safetensors", tiny_spec()
        save_checkpoint(path, spec.model(2), spec)
        return in_order(path.read_bytes())


def in_order(content: bytes) -> bytes:
    """The same safetensors: their header comes in another order each time."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.dumps(json.loads(content[8 : 8 + length]), sort_keys=True).encode()
    return struct.pack("<Q", len(header)) + header + content[8 + length :]


def repaired() -> bytes:
    from crest._repair import Structure  # noqa: PLC0415
    from crest._repair.saving import WEIGHTS, save_weights  # noqa: PLC0415
    from doors_made import model  # noqa: PLC0415

    structure = Structure(
        front="AC coupling", channels_first=True, pooling="2", layout="channels_first", keepdim=True
    )
    with tempfile.TemporaryDirectory() as folder:
        save_weights(Path(folder), structure.build(model()), structure, {})
        return in_order((Path(folder) / WEIGHTS).read_bytes())


def weights() -> bytes:
    from safetensors.torch import save  # noqa: PLC0415

    from doors_made import model  # noqa: PLC0415

    return in_order(save(model().state_dict(), metadata={"format": "pt"}))


def pickled() -> bytes:
    import torch  # noqa: PLC0415

    from doors_made import model  # noqa: PLC0415

    with io.BytesIO() as file:
        torch.save(model().state_dict(), file)
        return file.getvalue()


def study() -> bytes:
    return (
        b'[recordings]\ntable = "rows.csv"\nwindow = 8\nsample_rate = 10.0\ncondition = "speed"\nood = ["fast"]\n'
        b'[models]\nencoders = ["pointwise", "own.py:make"]\nreadouts = ["mean"]\nseeds = 2\n[training]\nepochs = 1\n'
    )


def record() -> bytes:
    from sweeping import made_up, tiny  # noqa: PLC0415

    return bytes(made_up(tiny(seed=1000)).to_json().encode())


# -- what reads them


def reads_signal(path: Path) -> None:
    from crest.recordings.signal_files import read_signal  # noqa: PLC0415

    read_signal(path, "[xX]*", largest=LARGEST)


def reads_annotations(path: Path) -> None:
    from crest.recordings.windows import event_steps  # noqa: PLC0415

    event_steps(f"{path.name}:V,N:0.1", 100_000, path.parent, 50.0)


def reads_table(path: Path) -> None:
    from crest.recordings import load_recordings  # noqa: PLC0415

    load_recordings(path, window=8, sample_rate=10.0, condition="speed", events="events", largest=LARGEST)


def reads_trajectories(path: Path) -> None:
    from crest.recordings import load  # noqa: PLC0415

    load(path, largest=LARGEST)


def reads_checkpoint(path: Path) -> None:
    from crest.lab.runs.checkpoint import load_checkpoint  # noqa: PLC0415

    load_checkpoint(path)


def reads_repaired(path: Path) -> None:
    from crest._repair.saving import load_weights  # noqa: PLC0415
    from doors_made import model  # noqa: PLC0415

    load_weights(path.parent, model())


def reads_weights(path: Path) -> None:
    from crest.lab.cli.own_model import with_weights  # noqa: PLC0415
    from doors_made import model  # noqa: PLC0415

    with_weights(model(), path, unsafe_pickle=path.suffix == ".pt")


def reads_record(path: Path) -> None:
    from crest.lab.runs.store import Store  # noqa: PLC0415

    store = Store(path.parent)
    store.read(path.stem)
    # The same text as a line of the published form.
    line = json.dumps(json.loads(path.read_bytes())).encode()
    path.unlink()
    store.packed.path.write_bytes(line + b"\n")
    with contextlib.suppress(FileNotFoundError):
        store.read(path.stem)


def reads_columns(path: Path) -> None:
    from crest.recordings.signal_files import read_signal  # noqa: PLC0415

    read_signal(path, columns=["x"], largest=LARGEST)


def reads_study(path: Path) -> None:
    from crest.lab.evidence.study_file import study_of  # noqa: PLC0415

    study_of(path)


# -- what once failed


def ended_the_process() -> bytes:
    """SciPy's reader ended with a segmentation fault at this byte."""
    content = bytearray(mat())
    content[192] = 0xC3
    return bytes(content)


def stands_for_gigabytes() -> bytes:
    """Few bytes of zeros, compressed, with the header of an array of 6 GiB."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (6 * 2**27,)}
    )
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.npy", header.getvalue() + bytes(2**20))
        return file.getvalue()


def holds_a_pickle() -> bytes:
    with io.BytesIO() as file:
        np.savez(file, x=np.array([{}], dtype=object))
        return file.getvalue()


def asks_for_more_than_there_is() -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    return header.getvalue() + bytes(64)


def with_structure(text: str) -> bytes:
    header = json.dumps({"__metadata__": {"structure": text}}).encode()
    return struct.pack("<Q", len(header)) + header


def zipped(members: list[tuple[str, bytes]], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of these members; names may repeat."""
    with io.BytesIO() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with zipfile.ZipFile(file, "w", kind) as archive:
            for name, content in members:
                # Without the time of day: a case must be the same when it is made again.
                archive.writestr(zipfile.ZipInfo(name), content, kind)
        return file.getvalue()


def zeros(count: int) -> bytes:
    with io.BytesIO() as file:
        np.save(file, np.zeros(count, np.float32))
        return file.getvalue()


def npy_header(text: bytes, version: int = 1) -> bytes:
    """A .npy file without data, whose header is this text."""
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 * version, "little") + text


def parquet_of(columns: list[tuple[str, Any]]) -> bytes:
    import pyarrow  # noqa: PLC0415
    import pyarrow.parquet as written  # noqa: PLC0415

    with io.BytesIO() as file:
        table = pyarrow.Table.from_arrays(
            [pyarrow.array(values) for _, values in columns], [name for name, _ in columns]
        )
        written.write_table(table, file)
        return file.getvalue()


def repeats_a_long_text() -> bytes:
    import pyarrow  # noqa: PLC0415

    return parquet_of(
        [("file", pyarrow.DictionaryArray.from_arrays(np.zeros(5000, np.int32), ["n" * 10**6]))]
    )


def mat_twins(first: int, second: int) -> bytes:
    """Two arrays of one name, of these lengths."""
    from scipy.io import savemat  # noqa: PLC0415

    parts = []
    for count in (first, second):
        with io.BytesIO() as file:
            savemat(file, {"x": np.zeros(count)}, do_compression=True)
            parts.append(file.getvalue())
    return undated(parts[0]) + parts[1][128:]


def a_long_header_unpacks() -> bytes:
    """A header of a gigabyte: NumPy reads it before it looks at its length."""
    return zipped([("x.npy", b"\x93NUMPY\x02\x00" + (2**30).to_bytes(4, "little") + bytes(2**28))])


def bzip2_unpacks_at_once() -> bytes:
    """zipfile has no limit for what a piece of bzip2 becomes: here 160 MB."""
    return zipped([("x.npy", zeros(4 * 10**7))], zipfile.ZIP_BZIP2)


def second_note() -> bytes:
    """A note on the whole file that is neither a rate nor a definition, at the sample where it stands."""
    return struct.pack("<HH", 22 << 10, 63 << 10 | 6) + b"## abc"


ONCE: dict[str, list[Callable[[], bytes]]] = {
    "mat": [
        ended_the_process,
        lambda: mat(compressed=True),
        lambda: mat_twins(10**7, 3),
        lambda: mat_twins(3, 10**7),
    ],
    "npz": [
        stands_for_gigabytes,
        holds_a_pickle,
        lambda: npz(compressed=False),
        # The small one was judged, the large one read.
        lambda: zipped([("x", zeros(3 * 10**7)), ("x.npy", zeros(3))]),
        lambda: zipped([("x.npy", zeros(3 * 10**7)), ("x.npy", zeros(3))]),
        a_long_header_unpacks,
        bzip2_unpacks_at_once,
    ],
    "npy": [
        asks_for_more_than_there_is,
        lambda: b"\x80\x04K\x01.",
        npz,
        # The tokenizer's own error, and what ends the parser.
        lambda: npy_header(b"{'descr': '<f4', 'shape': (3,"),
        lambda: npy_header(b"(" * 9000),
        lambda: npy_header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"1," * 4000 + b")}"),
        lambda: npy_header(b" " * 20_000, 2),
    ],
    "trajectories": [
        stands_for_gigabytes,
        holds_a_pickle,
        lambda: zipped([("x", zeros(3 * 10**7)), ("x.npy", zeros(3))]),
        lambda: zipped([("about", npy_header(b"{'descr': '<f4', 'shape': (3,"))]),
        bzip2_unpacks_at_once,
    ],
    "signal_parquet": [
        lambda: parquet_of([("x", [1.0]), ("x", [2.0])]),
        lambda: parquet_of([("x", np.zeros(2**23))]),
        lambda: parquet_of([("x", [1.0]), *((f"c{n}", [1.0]) for n in range(3000))]),
    ],
    "parquet": [
        lambda: parquet_of([("file", ["a.npy"]), ("file", ["b.npy"])]),
        # Texts that are in the file once, and would be in memory five thousand times.
        repeats_a_long_text,
    ],
    "study": [
        lambda: b"a." * 50_000 + b"b = 1\n",
        lambda: b"a." * 30_000 + b"b = 1\n",
        lambda: b"a = " + b"[" * 30_000,
        lambda: b"a = " + b"{a = " * 10_000,
        lambda: study().replace(b"seeds = 2", b"seeds = 1000000000"),
        lambda: study().replace(b"[recordings]", b"[recordings" + b".a" * 190 + b"]"),
    ],
    "csv": [
        # As many columns as a line can have, with names and without.
        lambda: b"1," * 400_000 + b"1\n",
        lambda: b",".join(b"x%d" % n for n in range(50_000)) + b"\n" + b"1," * 49_999 + b"1\n",
        lambda: b"x," * 400_000 + b"x\n" + b"1," * 400_000 + b"1\n",
        lambda: b"t," * 50_000 + b"t\n" + b"1," * 50_000 + b"1\n",
        lambda: b"1," * 700_000 + b"1\n",
        lambda: b"",
        lambda: b"a\0b,c\n1,2\n",
        lambda: b"1" * 5000 + b"\n",
        lambda: b"\xff\xfe",
    ],
    "txt": [lambda: b"\n;\n", lambda: b";;;\n1;2;3;4\n", lambda: b"#\n#\n#", lambda: b"1,5 2,5\n" * 3],
    "hea": [
        lambda: hea().replace(b"a.dat", b"../a.dat"),
        lambda: hea().replace(b"a.dat", b"s3://a/a.dat"),
        lambda: hea().replace(b" 60", b" 99999999999"),
        # wfdb's patterns take minutes for such a line, and its table of fields for as many signals.
        lambda: b"1" * 60_000,
        lambda: b"a 16000 50 1\n" + b"a 8\n" * 16_000,
    ],
    # wfdb's own reader never ends here.
    "atr": [
        lambda: atr()[:-2] + second_note(),
        lambda: second_note() * 2 + bytes(2),
        lambda: b"\xff" * 2**22,
    ],
    "table": [
        lambda: b"file,label,speed,events\n" + b"c.npy,1,s,mask.npy\n" * 50_000,
        lambda: b"file,label,speed,events" + b",file" * 100_000 + b"\n",
        lambda: b",".join(b"c%d" % n for n in range(100_000)) + b"\n",
        lambda: b"file,label,speed,events\na\0b.npy,1,s,\n",
        lambda: b"file,label,speed,events\n" + b"n" * 300 + b".npy,1,s,\n",
        lambda: b"file,label,speed,events\n" + b"n" * 200_000 + b",1,s,\n",
        lambda: b"file,label,speed,events\na.npy,1,s," + b"9" * 5000 + b"-" + b"9" * 5001 + b"\n",
    ],
    # A structure that nobody wrote, deep enough to end the reader of JSON.
    "repaired": [lambda: with_structure("[" * 100_000), lambda: with_structure('{"pooling": 5}')],
    "weights": [lambda: struct.pack("<Q", 2**62) + b"{}", lambda: struct.pack("<Q", 2) + b"{}"],
    "pickled": [lambda: b"", lambda: b"\x80\x02.", lambda: b"\x80\x02(u."],
    "record": [
        lambda: b"[" * 100_000,
        lambda: record().replace(b"0.", b"9" * 5000 + b".", 1),
        lambda: record().replace(b'"losses"', b'"losses": "x", "losses"'),
        lambda: record().replace(b"0.", b"1e999, ", 1),
    ],
    "safetensors": [lambda: struct.pack("<Q", 2**62) + b"{}", lambda: struct.pack("<Q", 2) + b"{}"],
}

KINDS: dict[str, tuple[str, Callable[[], bytes], Callable[[Path], None]]] = {
    "npy": ("a.npy", npy, reads_signal),
    "npz": ("a.npz", npz, reads_signal),
    "mat": ("a.mat", mat, reads_signal),
    "csv": ("a.csv", csv, reads_signal),
    "txt": ("a.txt", txt, reads_signal),
    "signal_parquet": ("a.parquet", signal_parquet, reads_columns),
    "mat73": ("a.mat", mat73, reads_signal),
    "wav": ("a.wav", wav, reads_signal),
    "hea": ("a.hea", hea, reads_signal),
    "atr": ("a.atr", atr, reads_annotations),
    "table": ("table.csv", table, reads_table),
    "parquet": ("table.parquet", parquet, reads_table),
    "trajectories": ("a.npz", trajectories, reads_trajectories),
    "safetensors": ("model.safetensors", safetensors, reads_checkpoint),
    "repaired": ("model.safetensors", repaired, reads_repaired),
    "weights": ("w.safetensors", weights, reads_weights),
    "pickled": ("w.pt", pickled, reads_weights),
    "record": ("", record, reads_record),
    "study": ("study.toml", study, reads_study),
}
"""By kind: the file's name, a sound one, and what reads it."""


# -- damage

EDGES = (0, 1, 0x7F, 0x80, 0xFF)
WIDE = tuple(struct.pack("<q", value) for value in (-1, 0, 2**31 - 1, 2**31, 2**62, -(2**63)))
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 0.5, 1e308, 2**70, "", "a\0b", "x" * 300, [], [1, "a"], {}, {"a": None}, [[[]]],
)  # fmt: skip


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The bytes after one to four accidents."""
    data = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data)) if data else 0
        # Headers decide how the rest is read, so half of the accidents happen there.
        place = min(place, draw.randrange(400)) if draw.random() < 0.5 else place
        length = draw.choice((1, 2, 4, 8, 64))
        what = draw.randrange(7)
        if what == 0 and data:
            data[place] ^= 1 << draw.randrange(8)
        elif what == 1 and data:
            data[place] = draw.choice(EDGES)
        elif what == 2:
            data[place : place + 8] = draw.choice(WIDE)
        elif what == 3:
            del data[place : place + length]
        elif what == 4:
            data[place:place] = data[place : place + length]
        elif what == 5:
            data[place : place + length] = draw.randbytes(length)
        else:
            del data[max(place, 1) :]
    return bytes(data)


def rewritten(value: Any, draw: random.Random) -> Any:
    """Plain values with one of them, anywhere in them, replaced or taken away."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.15:
        return draw.choice(VALUES)
    value = value.copy()
    key = draw.choice(list(value) if isinstance(value, dict) else range(len(value)))
    if draw.random() < 0.1:
        del value[key]
    else:
        value[key] = rewritten(value[key], draw)
    return value


def damaged_text(content: bytes, draw: random.Random) -> bytes:
    """JSON that is still JSON."""
    return json.dumps(rewritten(json.loads(content), draw)).encode()


def damaged_header(content: bytes, draw: random.Random) -> bytes:
    """Safetensors whose header, or a text of JSON in it, is still JSON."""
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    about = header["__metadata__"]
    told = [name for name, text in about.items() if text.startswith("{")]
    if told and draw.random() < 0.6:
        about[told[0]] = json.dumps(rewritten(json.loads(about[told[0]]), draw))
    else:
        header = rewritten(header, draw)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


COUNTS = (10, 300, 3000, 30_000, 200_000)


def crowded(content: bytes, draw: random.Random) -> bytes:
    """Text in which a piece is there thousands of times."""
    start = draw.randrange(len(content))
    piece = content[start : start + draw.choice((1, 2, 3, 8, 30))]
    return content[:start] + piece * min(draw.choice(COUNTS), 2**20 // len(piece)) + content[start:]


def numbered(content: bytes, draw: random.Random) -> bytes:
    """Text with a number that is far too large."""
    found = list(re.finditer(rb"\d+", content))
    one = draw.choice(found)
    number = draw.choice((b"99999999999", b"1e308", b"9" * 400, b"9" * 5000, b"-1", b"9223372036854775808"))
    return content[: one.start()] + number + content[one.end() :]


def renamed(content: bytes, draw: random.Random) -> bytes:
    """Text in which a word stands in the place of another one too."""
    words = list(re.finditer(rb"[A-Za-z_]+", content))
    one, other = draw.choice(words), draw.choice(words)
    return content[: one.start()] + other[0] + content[one.end() :]


def nested(content: bytes, draw: random.Random) -> bytes:
    """Text with brackets in brackets in the place of a value."""
    found = list(re.finditer(rb"\d+|true|null|\"[^\"]*\"", content))
    one = draw.choice(found)
    opening, closing = draw.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b"{a = ", b"}"), (b"(", b")"), (b"a.", b""))
    )
    count = draw.choice(COUNTS)
    return content[: one.start()] + opening * count + b"1" + closing * count + content[one.end() :]


def twinned(content: bytes, draw: random.Random) -> bytes:
    """JSON with a name twice in a mapping."""
    names = list(re.finditer(rb'"\w+": ', content))
    one = draw.choice(names)
    junk = draw.choice((b"0", b"null", b'"x"', b"[]", b"{}"))
    return content[: one.start()] + one[0] + junk + b", " + content[one.start() :]


def twinned_members(content: bytes, draw: random.Random) -> bytes:
    """An archive in which two members would be one array."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    name = draw.choice(members)[0]
    twin = draw.choice(
        (name, name.removesuffix(".npy"), f"{name}.npy", f"extra.{name}", f"/{name}", f"./{name}")
    )
    members.insert(draw.randrange(len(members) + 1), (twin, zeros(draw.choice((0, 3, 3 * 10**7)))))
    return zipped(
        members, draw.choice((zipfile.ZIP_STORED, *[zipfile.ZIP_DEFLATED] * 3)) if len(members) < 9 else 8
    )


def crowded_members(content: bytes, draw: random.Random) -> bytes:
    """An archive of thousands of members."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    count = draw.choice((10, 300, 3000))
    return zipped([*members, *((f"extra.m{number}.npy", zeros(1)) for number in range(count))])


def hostile_header(content: bytes, draw: random.Random) -> bytes:
    """A .npy file whose header is deep, long or of large numbers."""
    length = int.from_bytes(content[8:10], "little")
    text = draw.choice((nested, numbered, crowded, renamed))(content[10 : 10 + length], draw)
    version = 1 if len(text) < 2**16 else 2
    return npy_header(text, version) + content[10 + length :]


def hostile_columns(content: bytes, draw: random.Random) -> bytes:
    """Parquet with columns of one name, many columns, or many rows that are short in the file."""
    names = ["file", "label", "speed", "events", "x", "when"]
    count = draw.choice((1, 5, 300, 2000))
    many = [(draw.choice(names) if draw.random() < 0.3 else f"c{n}", [1.0]) for n in range(count)]
    # Two rows in the file: a value, and how often it repeats.
    values = draw.choice(
        ([1.0], np.zeros(draw.choice((1000, 2**23))), ["t" * draw.choice((1, 10**5))] * 1000)
    )
    return parquet_of(many if draw.random() < 0.5 else [("x", values)])


def hostile_mat(content: bytes, draw: random.Random) -> bytes:
    return mat_twins(*draw.choices((0, 1, 3, 10**6, 10**7), k=2))


WAYS: dict[str, list[Callable[[bytes, random.Random], bytes]]] = {
    "npy": [damaged, hostile_header],
    "npz": [damaged, twinned_members, crowded_members],
    "trajectories": [damaged, twinned_members, crowded_members],
    "mat": [damaged, hostile_mat],
    "signal_parquet": [damaged, hostile_columns],
    "parquet": [damaged, hostile_columns],
    **{
        kind: [damaged, crowded, numbered, renamed, nested]
        for kind in ("csv", "txt", "hea", "table", "study")
    },
    "record": [damaged, damaged_text, nested, numbered, twinned],
    **{kind: [damaged, damaged_header] for kind in ("safetensors", "repaired", "weights")},
}
"""By kind: what may happen to a sound file. The rest is damaged in its bytes alone."""


def cases(kind: str, seed: int, count: int) -> Iterator[Callable[[], bytes]]:
    """Makers of files: what once failed, the sound one, and `count` damaged ones, the same for the same seed."""
    sound = KINDS[kind][1]()
    yield from ONCE.get(kind, [])
    yield lambda: sound
    for number in range(count):
        draw = random.Random(f"{kind}/{seed}/{number}")
        yield lambda draw=draw: draw.choice(WAYS.get(kind, [damaged]))(sound, draw)


# -- the process that reads


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def rings(number: int, frame: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, rings)


def attempt(kind: str, content: bytes, folder: Path) -> str:
    """What a reader makes of the bytes: "read", "refused", or a sentence about what is wrong with it."""
    name = KINDS[kind][0] or f"{json.loads(record())['id']}.json"
    (folder / name).write_bytes(content)
    before = held_memory(fresh=True)
    signal.alarm(SECONDS)
    outcome = "read"
    try:
        KINDS[kind][2](folder / name)
    except ValueError:
        outcome = "refused"
    except TooLong:
        return f"it took more than {SECONDS} s"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:500]}\n{traceback.format_exc(limit=-4)[:3000]}"
    finally:
        signal.alarm(0)
        taken = held_memory() - before
    # A refusal comes before the memory is taken. A table of recordings is not told how much it may take.
    return f"it was {outcome} and took {taken} bytes" if taken > TAKEN and kind != "parquet" else outcome


def held_memory(fresh: bool = False) -> int:
    """Bytes that this process held at most since the last fresh look, or those that it holds now."""
    if fresh:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * int(lines["VmRSS" if fresh else "VmHWM"].split()[0])


def read_all(kind: str, seed: int, count: int, only: int | None, tell: Callable[[Any], None]) -> None:
    """Read every case, and tell its number before and its outcome after."""
    limited()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in "abc":
            np.save(place / f"{name}.npy", np.arange(20.0))
        np.save(place / "mask.npy", np.zeros(20, bool))
        (place / "a.dat").write_bytes(bytes(240))
        (place / "rows.csv").write_text("file,label,speed\na.npy,1,slow\nb.npy,2,slow\nc.npy,3,fast\n")
        (place / "own.py").write_text("raise RuntimeError('to read a study runs no code')\n")
        for number, make in enumerate(cases(kind, seed, count)):
            if only in (None, number):
                tell({"case": number})
                tell({"outcome": attempt(kind, make(), place)})


def forked(kind: str, seed: int, count: int, only: int | None) -> dict[str, Any]:
    """How the cases of a kind went, in a process of their own."""
    mine, its = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(mine)
        with open(its, "wb", buffering=0) as told:
            read_all(
                kind, seed, count, only, lambda what: told.write(json.dumps(what).encode() + b"\n") and None
            )
        os._exit(0)
    os.close(its)
    outcomes: list[str] = []
    last = -1
    troubles = []
    with open(mine, "rb") as told:
        for line in told:
            what = json.loads(line)
            last = what.get("case", last)
            if "outcome" in what:
                outcomes.append(what["outcome"])
                if what["outcome"] not in ("read", "refused"):
                    troubles.append(f"{kind}, case {last}: {what['outcome']}")
    _, status = os.waitpid(child, 0)
    if status:
        code = os.waitstatus_to_exitcode(status)
        troubles.append(f"{kind}, case {last}: the process ended with {code}")
    return {
        "kind": kind,
        "tried": len(outcomes),
        "read": outcomes.count("read"),
        "refused": outcomes.count("refused"),
        "troubles": troubles,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS], help="all of them unless given")
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    # Once for all: a forked process has what this one has loaded.
    import crest.lab.cli.own_model  # noqa: PLC0415
    import crest.lab.evidence.study_file  # noqa: PLC0415
    import crest.lab.runs.checkpoint  # noqa: PLC0415
    import crest.lab.runs.store  # noqa: PLC0415, F401
    from crest.recordings import mat_files  # noqa: PLC0415

    mat_files._PATIENCE = 5.0
    bad = False
    for kind in given.kinds or KINDS:
        start = time.monotonic()
        told = forked(kind, given.seed, given.cases, given.only)
        print(json.dumps({**told, "seconds": round(time.monotonic() - start, 1)}), flush=True)
        bad = bad or bool(told["troubles"])
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
