"""WFDB: what its own library writes is read back, and a header or an annotation file of a stranger leads nowhere."""

import os
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import wfdb

from crest.recordings import load_recordings
from crest.recordings.signal_files import read_signal
from crest.recordings.wfdb_files import read_annotations
from crest.recordings.windows import event_steps
from places import ROOT
from recordings_made import table

PLACES = [os.environ.get("CREST_DATA"), ROOT.parent / "shared" / "data"]
FOLDERS = [Path(place) / "mitbih" for place in PLACES if place]
FOLDER = next((folder for folder in FOLDERS if (folder / "100.hea").exists()), None)
real = pytest.mark.skipif(FOLDER is None, reason="no record 100 in CREST_DATA or ../shared/data/mitbih")

RATE = 50.0
SIGNAL = np.stack([np.sin(np.arange(600) / 9), 3 + np.cos(np.arange(600) / 7)], axis=1)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing here may use a network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def write(folder: Path, kind: str = "16", names: Sequence[str] = ("x", "y"), **kept: object) -> Path:
    wfdb.wrsamp("r", RATE, ["mV", "mV"], list(names), SIGNAL, fmt=[kind, kind], write_dir=str(folder), **kept)
    return folder / "r.hea"


def annotate(folder: Path, samples: Sequence[int], symbols: Sequence[str], **kept: object) -> Path:
    wfdb.wrann("r", "atr", np.array(samples), list(symbols), write_dir=str(folder), **kept)
    return folder / "r.atr"


def edited(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize("kind", ["16", "24", "32", "80", "212", "508", "516", "524"])
def test_what_wfdb_writes_comes_back_to_its_resolution(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, kind)
    gains = wfdb.rdheader(str(path.with_suffix(""))).adc_gain
    found = read_signal(path)
    assert found.sample_rate == RATE
    assert found.channels == ("x", "y")
    assert found.samples.dtype == np.float32
    assert found.samples.shape == SIGNAL.shape
    for channel, gain in enumerate(gains):
        np.testing.assert_allclose(found.samples[:, channel], SIGNAL[:, channel], atol=1 / gain + 1e-6)


def test_columns_are_chosen_and_the_name_may_be_in_capitals(tmp_path: Path) -> None:
    path = write(tmp_path).rename(tmp_path / "R.HEA")
    both = read_signal(path)
    one = read_signal(path, columns=["y"])
    assert one.channels == ("y",)
    np.testing.assert_array_equal(one.samples, both.samples[:, 1:])


def test_signals_of_one_name_are_told_apart(tmp_path: Path) -> None:
    path = write(tmp_path)
    edited(path, " x\n", " ECG\n")
    edited(path, " y\n", " ECG\n")
    assert read_signal(path).channels == ("ECG 0", "ECG 1")


def test_a_missing_sample_is_no_number_and_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    data = bytearray((tmp_path / "r.dat").read_bytes())
    data[40:42] = struct.pack("<h", -(2**15))
    (tmp_path / "r.dat").write_bytes(data)
    with pytest.raises(ValueError, match=r"must be finite .* the first at sample 10 of channel 0"):
        read_signal(path)


@pytest.mark.parametrize(
    "name", ["../r.dat", "/etc/passwd", "sub/r.dat", "..", "s3://there/r.dat", "a::file", "https://there/r"]
)
def test_a_header_leads_to_no_other_folder_and_no_network(name: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    path = write(inner)
    (inner / "r.dat").rename(tmp_path / "r.dat")
    edited(path, "r.dat", name)
    with pytest.raises(ValueError, match=r"must be a plain name in the header's own folder, got '"):
        read_signal(path)


def test_a_folder_whose_name_reads_as_an_address_is_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "simplecache::s3:"
    folder.mkdir()
    np.testing.assert_array_equal(
        read_signal(write(tmp_path)).samples, read_signal(moved(tmp_path, folder)).samples
    )


def moved(source: Path, target: Path) -> Path:
    for name in ("r.hea", "r.dat"):
        (source / name).rename(target / name)
    return target / "r.hea"


def test_a_signal_file_cannot_stand_in_for_the_header(tmp_path: Path) -> None:
    path = write(tmp_path)
    edited(path, "r.dat", "r.hea")
    with pytest.raises(ValueError, match=r"'r\.hea' must have 2400 bytes"):
        read_signal(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (" 600\n", " 99999999999\n", r"take 1599999999984 bytes in memory, more than largest"),
        (" 600\n", " 700\n", r"'r\.dat' must have 2800 bytes for the 1400 samples of the header, got 2400"),
        (" 600\n", "\n", r"must give the number of samples, got none"),
        (" 16 ", " 16:99999999999 ", r"bytes in memory, more than largest"),
        (" 16 ", " 16+99999999999 ", r"must have 100000002399 bytes"),
        (" 16 ", " 16x2 ", r"one sample per frame .*, got 2, 2"),
        (" 16 ", " 17 ", r"format of 'r\.dat' must be one of 8, 16, .*, got 17"),
        ("r 2 ", "r 3 ", r"must describe its 3 signals, got 2"),
        ("r 2 ", "r 0 ", r"must describe its 0 signals, got 2"),
        ("r 2 50", "r 2 0", r"sample rate must be above 0, got 0"),
        ("r 2 ", "r/3 2 ", r"of several segments is not supported: list its segments"),
        ("r.dat", "q.dat", r"'q\.dat' does not exist beside the header"),
        ("r 2 ", "r" * 1001 + " 2 ", r"at most 1000 characters"),
        ("r 2 ", "#" * 2**16 + "\nr 2 ", r"at most 65536 bytes"),
    ],
)
def test_a_hostile_header_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"file 'r.hea' cannot be read: .*{message}"):
        read_signal(edited(write(tmp_path), old, new))


def test_claims_are_judged_before_the_signal_file_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path)
    monkeypatch.setattr(wfdb, "rdrecord", lambda *_: pytest.fail("read too much"))
    with pytest.raises(ValueError, match="take 9600 bytes in memory, more than largest = 9599"):
        read_signal(path, largest=9599)


def test_a_cut_off_signal_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "212")
    data = (tmp_path / "r.dat").read_bytes()
    (tmp_path / "r.dat").write_bytes(data[:-1])
    with pytest.raises(ValueError, match=rf"must have {len(data)} bytes .*, got {len(data) - 1}"):
        read_signal(path)


def test_one_file_with_two_formats_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1] + lines[2].replace(" 16 ", " 80 "))
    with pytest.raises(ValueError, match=r"'r\.dat' must have one format, got several"):
        read_signal(path)


# -- annotations


def test_annotations_are_those_that_wfdb_reads(tmp_path: Path) -> None:
    samples = [0, 3, 3, 1500, 70_000, 5_000_000]
    path = annotate(tmp_path, samples, "NV+NA~", aux_note=["", "", "(AFIB", "", "odd", ""], chan=np.arange(6))
    found, theirs = read_annotations(path), wfdb.rdann(str(tmp_path / "r"), "atr")
    assert found.samples.tolist() == theirs.sample.tolist() == samples
    assert found.symbols == tuple(theirs.symbol) == tuple("NV+NA~")
    assert found.rate is None


def test_own_symbols_and_a_rate_of_the_annotations_are_read(tmp_path: Path) -> None:
    path = annotate(tmp_path, [10, 200], "NZ", fs=250, custom_labels=[(42, "Z", "a zigzag")])
    found = read_annotations(path)
    assert found.symbols == ("N", "Z")
    assert found.rate == 250.0
    assert "Z" in found.known
    # Sample 200 at 250 Hz is sample 40 at 50 Hz.
    assert np.flatnonzero(event_steps("r.atr:Z:0.02", 600, tmp_path, RATE)).tolist() == [40]


def test_a_second_note_on_the_file_does_not_keep_the_reader_for_ever(tmp_path: Path) -> None:
    note = struct.pack("<HH", 22 << 10, 63 << 10 | 6) + b"## abc"
    (tmp_path / "r.atr").write_bytes(note * 2 + struct.pack("<HH", 5 << 10 | 7, 0))
    found = read_annotations(tmp_path / "r.atr")
    assert found.samples.tolist()[-1] == 7
    assert found.symbols[-1] == "V"


def test_events_are_centred_on_the_chosen_annotations_and_stay_inside(tmp_path: Path) -> None:
    annotate(tmp_path, [1, 100, 200, 599], "VNEV")

    def steps(cell: str) -> list[int]:
        return np.flatnonzero(event_steps(cell, 600, tmp_path, RATE)).tolist()

    assert steps("r.atr:E:0.1") == [198, 199, 200, 201, 202]
    assert steps("r.atr:V:0.1") == [0, 1, 2, 3, 597, 598, 599]
    assert steps("r.atr:V,E:0.02") == [1, 200, 599]
    # One sample at least; and a symbol of the format that does not occur is no error.
    assert steps("r.atr:N:0.0001") == [100]
    assert steps("r.atr:A:0.1") == []


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("r.atr:W:0.1", r"must have symbols of 'r\.atr', such as .*, got 'W'"),
        ("r.atr:V,:0.1", r"got ''"),
        ("r.atr::0.1", r"got ''"),
        ("r.atr:V:0", r"must last more than 0 seconds and at most the recording's 12, got '0'"),
        ("r.atr:V:-1", r"more than 0 seconds"),
        ("r.atr:V:nan", r"more than 0 seconds"),
        ("r.atr:V:1e999", r"more than 0 seconds"),
        ("r.atr:V:long", r"more than 0 seconds .*, got 'long'"),
        ("r.atr:V", r"or annotations as file:symbols:seconds, got 'r\.atr:V'"),
        ("q.atr:V:0.1", r"event file '.*q\.atr' does not exist"),
        ("s3://there/r.atr:V:0.1", r"does not exist"),
        ("r.atr:E:0.1", r"must annotate the signal's 600 samples, got one at 600"),
        ("cut.atr:V:0.1", r"'cut\.atr' cannot be read: annotations must end with a word of zeros"),
        ("odd.atr:V:0.1", r"even number of bytes"),
        ("long.atr:V:0.1", r"at most 4194304 bytes"),
    ],
)
def test_wrong_cells_are_bad_rows(cell: str, message: str, tmp_path: Path) -> None:
    content = annotate(tmp_path, [3, 600], "VE").read_bytes()
    (tmp_path / "cut.atr").write_bytes(content[:-2])
    (tmp_path / "odd.atr").write_bytes(content[:-1])
    (tmp_path / "long.atr").write_bytes(bytes(2**22 + 2))
    write(tmp_path)
    rows = table(tmp_path, "file,label,events", f'r.hea,1,"{cell}"')
    with pytest.raises(ValueError, match=rf"line 2: .*{message}"):
        load_recordings(rows, events="events", window=60)


def test_seconds_need_a_sample_rate(tmp_path: Path) -> None:
    annotate(tmp_path, [3], "V")
    np.save(tmp_path / "a.npy", np.arange(20.0))
    rows = table(tmp_path, "file,label,events", "a.npy,1,r.atr:V:0.1")
    with pytest.raises(ValueError, match=r"sample_rate must be given"):
        event_steps("r.atr:V:0.1", 20, tmp_path)
    found = load_recordings(rows, events="events", window=20, sample_rate=RATE)
    assert np.flatnonzero(found.events[0]).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("rate", [25.0, 40.0, 100.0])
def test_resampling_keeps_the_times_of_events(rate: float, tmp_path: Path) -> None:
    write(tmp_path)
    annotate(tmp_path, [120, 480], "VV")
    rows = table(tmp_path, "file,label,events", "r.hea,1,r.atr:V:0.2")
    found = load_recordings(rows, events="events", window=int(12 * rate), resample=rate)
    steps = np.flatnonzero(found.events[0]) / rate
    for second in (2.4, 9.6):
        near = steps[np.abs(steps - second) < 1]
        assert abs(near.mean() - second) <= 1 / rate
        assert abs(len(near) / rate - 0.2) <= 2 / rate
    assert len(np.flatnonzero(np.diff(found.events[0].astype(int)) == 1)) == 2


# -- a real record


@real
def test_record_100_is_read_as_wfdb_reads_it() -> None:
    assert FOLDER is not None
    found = read_signal(FOLDER / "100.hea")
    theirs = wfdb.rdrecord(str(FOLDER / "100"))
    assert found.sample_rate == 360.0
    assert found.channels == ("MLII", "V5")
    np.testing.assert_array_equal(found.samples, theirs.p_signal.astype(np.float32))
    annotations, expected = read_annotations(FOLDER / "100.atr"), wfdb.rdann(str(FOLDER / "100"), "atr")
    np.testing.assert_array_equal(annotations.samples, expected.sample)
    assert annotations.symbols == tuple(expected.symbol)


@real
def test_record_100_becomes_windows_with_its_one_ventricular_beat(tmp_path: Path) -> None:
    assert FOLDER is not None
    rows = table(tmp_path, "file,label,record,events", "100.hea,1,100,100.atr:V:0.15")
    found = load_recordings(
        rows, FOLDER, condition="record", events="events", window=900, hop=900, resample=90.0, time=False
    )
    assert found.x.shape == (180, 900, 2)
    annotations = read_annotations(FOLDER / "100.atr")
    (beat,) = annotations.samples[[symbol == "V" for symbol in annotations.symbols]].tolist()
    window, step = divmod(beat // 4, 900)
    assert np.flatnonzero(found.events.any(axis=1)).tolist() == [window]
    steps = np.flatnonzero(found.events[window])
    assert abs(steps.mean() - step) <= 1
    assert len(steps) in (14, 15)
