"""Files of every kind that is read, damaged at random, in processes with limits: a reader answers or refuses.

    python tests/parser_fuzzer.py --cases 2000 --seed 7        every kind
    python tests/parser_fuzzer.py mat --seed 7 --only 123      one case again, with its traceback

A kind is read in a process of its own, which may take neither much memory nor time; where it dies, the case at which it
did is told. What once failed is made anew by `ONCE` and tried first. One line of JSON per kind comes out.
"""

import argparse
import contextlib
import io
import json
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 15
"""For one file. Sound ones take milliseconds; the rest is for a machine under load."""
MEMORY = 2 * 2**30
"""Bytes that a process may take beyond what it has when it starts."""
LARGEST = 2**26
"""What readers are told that a file may take."""


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
        return file.getvalue()


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


def record() -> bytes:
    from sweeping import made_up, tiny  # noqa: PLC0415

    return bytes(made_up(tiny(seed=1000)).to_json().encode())


# -- what reads them


def reads_signal(path: Path) -> None:
    from crest.recordings.signal_files import read_signal  # noqa: PLC0415

    read_signal(path, "[xX]*", largest=LARGEST)


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
    from crest import Repaired  # noqa: PLC0415
    from doors_made import model  # noqa: PLC0415

    Repaired.load(path.parent, model())


def reads_weights(path: Path) -> None:
    from crest.lab.cli.own_model import fill_weights  # noqa: PLC0415
    from doors_made import model  # noqa: PLC0415

    fill_weights(model(), path, unsafe_pickle=path.suffix == ".pt")


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


ONCE: dict[str, list[Callable[[], bytes]]] = {
    "mat": [ended_the_process, lambda: mat(compressed=True)],
    "npz": [stands_for_gigabytes, holds_a_pickle, lambda: npz(compressed=False)],
    "npy": [asks_for_more_than_there_is, lambda: b"\x80\x04K\x01.", npz],
    "trajectories": [stands_for_gigabytes, holds_a_pickle],
    "csv": [lambda: b"", lambda: b"a\0b,c\n1,2\n", lambda: b"1" * 5000 + b"\n", lambda: b"\xff\xfe"],
    "txt": [lambda: b"\n;\n", lambda: b";;;\n1;2;3;4\n", lambda: b"#\n#\n#", lambda: b"1,5 2,5\n" * 3],
    "table": [
        lambda: b"file,label,speed,events\na\0b.npy,1,s,\n",
        lambda: b"file,label,speed,events\n" + b"n" * 300 + b".npy,1,s,\n",
        lambda: b"file,label,speed,events\n" + b"n" * 200_000 + b",1,s,\n",
        lambda: b"file,label,speed,events\na.npy,1,s," + b"9" * 5000 + b"-" + b"9" * 5001 + b"\n",
    ],
    # A structure that nobody wrote, deep enough to end the reader of JSON.
    "repaired": [lambda: with_structure("[" * 100_000), lambda: with_structure('{"pooling": 5}')],
    "weights": [lambda: struct.pack("<Q", 2**62) + b"{}", lambda: struct.pack("<Q", 2) + b"{}"],
    "pickled": [lambda: b"", lambda: b"\x80\x02.", lambda: b"\x80\x02(u."],
    "record": [lambda: b"[" * 100_000, lambda: record().replace(b"0.", b"9" * 5000 + b".", 1)],
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
    "table": ("table.csv", table, reads_table),
    "parquet": ("table.parquet", parquet, reads_table),
    "trajectories": ("a.npz", trajectories, reads_trajectories),
    "safetensors": ("model.safetensors", safetensors, reads_checkpoint),
    "repaired": ("model.safetensors", repaired, reads_repaired),
    "weights": ("w.safetensors", weights, reads_weights),
    "pickled": ("w.pt", pickled, reads_weights),
    "record": ("", record, reads_record),
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


def cases(kind: str, seed: int, count: int) -> Iterator[Callable[[], bytes]]:
    """Makers of files: what once failed, the sound one, and `count` damaged ones, the same for the same seed."""
    sound = KINDS[kind][1]()
    yield from ONCE.get(kind, [])
    yield lambda: sound
    ways = {
        "record": [damaged, damaged_text],
        **{name: [damaged, damaged_header] for name in ("safetensors", "repaired", "weights")},
    }.get(kind, [damaged])
    for number in range(count):
        draw = random.Random(f"{kind}/{seed}/{number}")
        yield lambda draw=draw: draw.choice(ways)(sound, draw)


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
    signal.alarm(SECONDS)
    try:
        KINDS[kind][2](folder / name)
    except ValueError:
        return "refused"
    except TooLong:
        return f"it took more than {SECONDS} s"
    except BaseException as error:
        return f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-4)}"
    finally:
        signal.alarm(0)
    return "read"


def read_all(kind: str, seed: int, count: int, only: int | None, tell: Callable[[Any], None]) -> None:
    """Read every case, and tell its number before and its outcome after."""
    limited()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in "abc":
            np.save(place / f"{name}.npy", np.arange(20.0))
        np.save(place / "mask.npy", np.zeros(20, bool))
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
