import re
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

from crest.recordings import load_recordings
from crest.recordings.signal_files import read_signal
from recordings_made import table


def test_all_bad_rows_are_listed_with_their_lines(tmp_path: Path) -> None:
    for name, array in {
        "good": np.zeros(20),
        "fine": np.zeros(20),
        "short": np.zeros(7),
        "wide": np.zeros((20, 2)),
        "turned": np.zeros((2, 20)),
        "nan": np.array([0.0] * 19 + [np.nan]),
        "e1": np.zeros(20),
        "e2": np.ones(20),
    }.items():
        np.save(tmp_path / f"{name}.npy", array)
    (tmp_path / "broken.npy").write_bytes(b"junk")
    wavfile.write(tmp_path / "slow.wav", 50, np.zeros(20, dtype=np.float32))
    rows = [
        ("good.npy,1,a,", None),
        ("missing.npy,1,a,", "missing.npy' does not exist"),
        ("broken.npy,1,a,", "'broken.npy' cannot be read"),
        ("notes.doc,1,a,", "must end in .npy, .npz, .mat, .csv, .txt, .parquet, .wav, .hea, got 'notes.doc'"),
        ("fine.npy,high,a,", "label must be a finite number, got 'high'"),
        ("short.npy,nan,a,", "label must be a finite number, got 'nan'"),
        ("wide.npy,1,a,", "must have channels: 1, as most files have, got 2"),
        ("turned.npy,1,a,", "got 2 (a signal is (T, C): is this one transposed?)"),
        ("nan.npy,1,a,", "the first at sample 19 of channel 0"),
        ("slow.wav,1,a,", "must have sample rate 100, as given, got 50.0"),
        ("e1.npy,1,a,3-21", "events must satisfy start < end <= 20, the signal's length, got '3-21'"),
        (
            "e2.npy,1,,3..5",
            "events must be start-end;start-end in samples, or a .npy file, or annotations as file:symbols:seconds, got '3..5'",
        ),
        ("good.npy,1,a,", "file must not repeat, got 'good.npy' as on line 2"),
        (",1,a,", "file must not be empty"),
        ("good.npy,1", "must have 4 cells, as the header has, got 2"),
    ]
    path = table(tmp_path, "file,label,condition,events", *(row for row, _ in rows))
    with pytest.raises(
        ValueError, match="table must have good rows only, got 16 problems in 14 of 15 rows"
    ) as caught:
        load_recordings(path, window=8, sample_rate=100, condition="condition", events="events")
    *lines, advice = str(caught.value).splitlines()[1:]
    assert advice == (
        "What to do: recordings have 2 to 20 samples: take window=2 or less, or leave the shorter ones out of the table"
    )
    assert [int(re.match(r"  line (\d+): ", line)[1]) for line in lines] == sorted(
        [*range(3, 17), 7, 13]  # two things are wrong with each of these
    )
    for number, (_, reason) in enumerate(rows, 2):
        assert reason is None or any(
            line.startswith(f"  line {number}:") and reason in line for line in lines
        )
    assert "  line 7: file 'short.npy' must have at least one window of 8 samples, got 7" in lines
    assert "  line 13: condition must not be empty" in lines


def test_names_that_no_file_can_have_are_bad_rows(tmp_path: Path) -> None:
    for name in ("good", "fine", "last"):
        np.save(tmp_path / f"{name}.npy", np.zeros(20))
    (tmp_path / "circle.npy").symlink_to(tmp_path / "circle.npy")
    (tmp_path / "objects.npy").write_bytes(b"\x80\x04K\x01.")
    rows = {
        3: ("a\0b.npy,1,", "does not exist"),
        4: (f"{'n' * 300}.npy,1,", "File name too long"),
        5: ("circle.npy,1,", "circle.npy'"),
        6: (f"fine.npy,1,{'n' * 300}.npy", "File name too long"),
        7: ("last.npy,1,a\0b.npy", "does not exist"),
    }
    path = table(tmp_path, "file,label,events", "good.npy,1,objects.npy", *(row for row, _ in rows.values()))
    with pytest.raises(ValueError, match="got 6 problems in 6 of 6 rows") as caught:
        load_recordings(path, window=8, sample_rate=1, events="events")
    lines = str(caught.value).splitlines()[1:]
    assert (
        lines[0] == "  line 2: event file 'objects.npy' cannot be read: it is not a .npy file by its content"
    )
    for line, (number, (_, reason)) in zip(lines[1:], rows.items(), strict=True):
        assert line.startswith(f"  line {number}: ")
        assert reason in line


def test_one_reason_of_many_rows_is_told_once_with_their_number(tmp_path: Path) -> None:
    path = table(tmp_path, "file,label", *(f"{number}.npy,1" for number in range(300)))
    with pytest.raises(ValueError, match="300 problems in 300 of 300 rows") as caught:
        load_recordings(path, window=8, sample_rate=1)
    missing = f"file '{tmp_path / '0.npy'}' does not exist, and likewise the others"
    assert str(caught.value).splitlines()[1:] == [
        f"  lines 2, 3, 4 and 297 more: {missing}",
        f"What to do: none of the files is in '{tmp_path}': folder= says where they are",
    ]


def test_the_odd_sound_is_the_bad_one(tmp_path: Path) -> None:
    for name, rate in (("a", 50), ("b", 100), ("c", 100)):
        wavfile.write(tmp_path / f"{name}.wav", rate, np.zeros(20, dtype=np.float32))
    path = table(tmp_path, "file,label", "a.wav,1", "b.wav,1", "c.wav,1")
    with pytest.raises(
        ValueError,
        match=r"line 2: .* rate 100\.0, as most files have, got 50\.0 \(resample=100 brings all to one rate\)$",
    ):
        load_recordings(path, window=8)
    assert load_recordings(table(tmp_path, "file,label", "b.wav,1", "c.wav,1"), window=8).sample_rate == 100


def test_a_sound_does_not_speak_for_other_files(tmp_path: Path) -> None:
    wavfile.write(tmp_path / "a.wav", 100, np.zeros(20, dtype=np.float32))
    np.save(tmp_path / "b.npy", np.zeros(20))
    path = table(tmp_path, "file,label", "a.wav,1", "b.npy,1")
    with pytest.raises(ValueError, match=r"sample_rate must be given .* got none for 'b\.npy'"):
        load_recordings(path, window=8)


def test_csv_headers_name_the_channels_and_must_agree(tmp_path: Path) -> None:
    for name, header in (("a", "x,y"), ("b", "x,y"), ("c", "y,x")):
        (tmp_path / f"{name}.csv").write_text(f"{header}\n1,2\n3,4\n")
    path = table(tmp_path, "file,label", "a.csv,1", "b.csv,1")
    assert load_recordings(path, window=2, sample_rate=1).channels == ("x", "y")
    path = table(tmp_path, "file,label", "a.csv,1", "b.csv,1", "c.csv,1")
    with pytest.raises(
        ValueError, match=r"line 4: .* names \('x', 'y'\), as most files have, got \('y', 'x'\)"
    ):
        load_recordings(path, window=2, sample_rate=1)


def test_a_file_that_many_rows_name_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.zeros(20))
    (tmp_path / "table.csv").write_text("file,label\n" + "a.npy,1\n" * 1000)
    asked = []
    monkeypatch.setattr(
        "crest.recordings.rows.read_signal", lambda *args, **_: asked.append(args) or read_signal(*args)
    )
    with pytest.raises(
        ValueError, match=r"(?s)999 problems .*file must not repeat, got 'a.npy' as on line 2"
    ):
        load_recordings(tmp_path / "table.csv", window=8, sample_rate=10.0)
    assert len(asked) == 1


def test_parts_of_one_file_are_read_once_and_lie_where_the_table_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "a.npy", np.arange(100))
    opened: list[Path] = []

    def counted(path: Path, *args: object, **kwargs: object) -> object:
        opened.append(path)
        return read_signal(path, *args, **kwargs)

    monkeypatch.setattr("crest.recordings.rows.read_signal", counted)
    path = table(tmp_path, "file,label,events,from,to", "a.npy,1,5-10,,3", "a.npy,2,52-53,5,80 samples")
    data = load_recordings(path, window=10, sample_rate=10, start="from", stop="to", events="events")
    assert len(opened) == 1
    assert data.extra["start"].tolist() == [0, 10, 20, 50, 60, 70]
    assert data.x[:, 0, 0].tolist() == [0, 10, 20, 50, 60, 70]
    assert data.extra["recording"].tolist() == [0] * 6
    assert data.extra["row"].tolist() == [0] * 3 + [1] * 3
    assert data.events is not None
    assert np.argwhere(data.events).tolist() == [[0, n] for n in range(5, 10)] + [[3, 2]]
    data = load_recordings(path, window=10, sample_rate=10, start="from", stop="to", resample=20)
    assert data.extra["start"].tolist() == [*range(0, 60, 10), *range(100, 160, 10)]


def test_rows_of_one_file_must_not_overlap(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(100))
    path = table(
        tmp_path, "file,label,part,from,to", "a.npy,1,train,,6", "a.npy,2,ood,5,", "a.npy,2,tset,,0.5"
    )
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        load_recordings(path, window=10, sample_rate=10, start="from", stop="to", split="part")
    told = str(caught.value)
    assert (
        "line 3: rows of one file must not overlap, got 'a.npy' as on line 2, and the splits train and ood would share windows"
        in told
    )
    assert "line 4: part, the column of the split, must be one of train, id, ood, got 'tset'" in told
    assert "line 4: this part of file 'a.npy' must have at least one window of 10 samples, got 5" in told


def test_a_file_that_repeats_is_told_how_to_be_cut(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(100))
    path = table(tmp_path, "file,label", "a.npy,1", "a.npy,2")
    with pytest.raises(ValueError, match=r"start= and stop= name columns that cut a file into parts"):
        load_recordings(path, window=10, sample_rate=10)
