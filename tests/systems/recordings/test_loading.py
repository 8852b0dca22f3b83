import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import wavfile

from crest.systems.base import Trajectories
from crest.systems.recordings import load_recordings, split_by_condition
from crest.systems.recordings.splits import held_out_blocks
from crest.systems.recordings.windows import cut_windows, event_steps, window_starts
from places import ROOT


def table(folder: Path, *lines: str) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Recordings of 20, 25 and 9 samples that count 0, 1, ..., from 1000 and from 2000."""
    for number, (name, length) in enumerate([("a.npy", 20), ("b.npy", 25), ("c.npy", 9)]):
        np.save(tmp_path / name, 1000 * number + np.arange(length))
    return table(
        tmp_path,
        "file,label,speed,cue,events",
        "a.npy,1,slow,7,3-6;10-12",
        "b.npy,2,fast,8,",
        "c.npy,3,slow,9,0-9",
    )


def load(path: Path) -> Trajectories:
    return load_recordings(
        path, window=8, hop=6, sample_rate=10, condition="speed", proxy="cue", events="events", channels=["a"]
    )


def test_windows_lie_at_their_samples(three: Path) -> None:
    data = load(three)
    recording, start = data.extra["recording"], data.extra["start"]
    assert start.tolist() == [0, 6, 12, 0, 6, 12, 0]
    assert recording.tolist() == [0, 0, 0, 1, 1, 1, 2]
    np.testing.assert_array_equal(data.x[:, :, 0], (1000 * recording + start)[:, None] + np.arange(8))
    assert data.x.dtype == np.float32
    assert data.y.tolist() == [1, 1, 1, 2, 2, 2, 3]
    assert data.proxy is not None
    assert data.proxy.tolist() == [7, 7, 7, 8, 8, 8, 9]
    assert data.extra["condition"].tolist() == ["slow"] * 3 + ["fast"] * 3 + ["slow"]
    assert (data.sample_rate, data.channels) == (10, ("a",))


def test_events_are_cut_with_the_signal(three: Path) -> None:
    data = load(three)
    assert data.events is not None
    steps = [
        (np.flatnonzero(row) + start).tolist()
        for row, start in zip(data.events, data.extra["start"], strict=True)
    ]
    assert steps == [[3, 4, 5], [10, 11], [], [], [], [], list(range(8))]


def test_optional_columns_may_be_left_out(three: Path) -> None:
    data = load_recordings(three, window=9, sample_rate=10)
    assert data.events is None
    assert data.proxy is None
    assert set(data.extra) == {"recording", "start"}
    assert data.extra["start"].tolist() == [0, 9, 0, 9, 0]


def test_events_may_be_a_file(tmp_path: Path) -> None:
    mask = np.arange(20) % 3 == 0
    np.save(tmp_path / "mask.npy", mask)
    np.testing.assert_array_equal(event_steps("mask.npy", 20, tmp_path), mask)
    with pytest.raises(ValueError, match=r"must hold booleans of shape \(19,\), got bool \(20,\)"):
        event_steps("mask.npy", 19, tmp_path)
    with pytest.raises(ValueError, match=r"none\.npy' does not exist"):
        event_steps("none.npy", 20, tmp_path)


def test_parquet_and_csv_say_the_same(three: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.read_csv(three).to_parquet(three.with_suffix(".parquet"))
    one, other = load(three), load(three.with_suffix(".parquet"))
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.events, other.events)
    np.testing.assert_array_equal(one.y, other.y)
    assert one.extra["condition"].tolist() == other.extra["condition"].tolist()


def test_whole_conditions_of_parquet_are_whole_numbers(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    np.save(tmp_path / "a.npy", np.zeros(8))
    frame = pandas.DataFrame({"file": ["a.npy"], "label": [1], "speed": [1500.0]})
    frame.to_parquet(tmp_path / "table.parquet")
    data = load_recordings(tmp_path / "table.parquet", window=8, sample_rate=1, condition="speed")
    assert data.extra["condition"].tolist() == ["1500"]


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match="needs pyarrow: pip install pyarrow"):
        load_recordings(tmp_path / "table.parquet", window=8)


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
        ("notes.txt,1,a,", "must end in .npy, .npz, .mat, .csv, .wav, got 'notes.txt'"),
        ("fine.npy,high,a,", "label must be a finite number, got 'high'"),
        ("short.npy,nan,a,", "label must be a finite number, got 'nan'"),
        ("wide.npy,1,a,", "must have channels: 1, as most files have, got 2"),
        ("turned.npy,1,a,", "got 2 (a signal is (T, C): is this one transposed?)"),
        ("nan.npy,1,a,", "the first at sample 19 of channel 0"),
        ("slow.wav,1,a,", "must have sample rate 100, as given, got 50.0"),
        ("e1.npy,1,a,3-21", "events must satisfy start < end <= 20, the signal's length, got '3-21'"),
        ("e2.npy,1,,3..5", "events must be start-end;start-end in samples, or a .npy file, got '3..5'"),
        ("good.npy,1,a,", "file must not repeat, got 'good.npy' as on line 2"),
        (",1,a,", "file must not be empty"),
        ("good.npy,1", "must have 4 cells, as the header has, got 2"),
    ]
    path = table(tmp_path, "file,label,condition,events", *(row for row, _ in rows))
    with pytest.raises(
        ValueError, match="table must have good rows only, got 16 problems in 14 of 15 rows"
    ) as caught:
        load_recordings(path, window=8, sample_rate=100, condition="condition", events="events")
    lines = str(caught.value).splitlines()[1:]
    assert [int(re.match(r"  line (\d+): ", line)[1]) for line in lines] == sorted(
        [*range(3, 17), 7, 13]  # two things are wrong with each of these
    )
    for number, (_, reason) in enumerate(rows, 2):
        assert reason is None or any(
            line.startswith(f"  line {number}:") and reason in line for line in lines
        )
    assert "  line 7: file 'short.npy' must have at least one window of 8 samples, got 7" in lines
    assert "  line 13: condition must not be empty" in lines


def test_a_long_list_of_bad_rows_is_cut_and_counted(tmp_path: Path) -> None:
    path = table(tmp_path, "file,label", *(f"{number}.npy,1" for number in range(300)))
    with pytest.raises(ValueError, match="300 problems in 300 of 300 rows") as caught:
        load_recordings(path, window=8, sample_rate=1)
    lines = str(caught.value).splitlines()
    assert len(lines) == 22
    assert lines[-1] == "  ... and 280 more"


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = table(tmp_path, '"file",label,note', "", 'a.npy,1,"two\nlines"', "b.npy,1,x")
    with pytest.raises(ValueError, match=r"line 3: .*a\.npy") as caught:
        load_recordings(path, window=8, sample_rate=1)
    assert "line 5: file" in str(caught.value)


def test_the_odd_sound_is_the_bad_one(tmp_path: Path) -> None:
    for name, rate in (("a", 50), ("b", 100), ("c", 100)):
        wavfile.write(tmp_path / f"{name}.wav", rate, np.zeros(20, dtype=np.float32))
    path = table(tmp_path, "file,label", "a.wav,1", "b.wav,1", "c.wav,1")
    with pytest.raises(ValueError, match=r"line 2: .* rate 100\.0, as most files have, got 50\.0$"):
        load_recordings(path, window=8)
    assert load_recordings(table(tmp_path, "file,label", "b.wav,1", "c.wav,1"), window=8).sample_rate == 100


def test_a_sound_does_not_speak_for_other_files(tmp_path: Path) -> None:
    wavfile.write(tmp_path / "a.wav", 100, np.zeros(20, dtype=np.float32))
    np.save(tmp_path / "b.npy", np.zeros(20))
    path = table(tmp_path, "file,label", "a.wav,1", "b.npy,1")
    with pytest.raises(ValueError, match=r"sample_rate must be given .* got None and 'b\.npy'"):
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


def test_missing_columns_list_what_is_there(three: Path) -> None:
    with pytest.raises(ValueError, match=r"got label='y', proxy='p'; .* has file, label, speed, cue, events"):
        load_recordings(three, window=8, sample_rate=1, label="y", proxy="p")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"window": 0, "sample_rate": 1}, "window must be a whole number, 1 or more, got 0"),
        (
            {"window": 8, "hop": 0, "sample_rate": 1},
            "hop must be a whole number, 1 or more, got 0",
        ),
        ({"window": 8, "sample_rate": -1.0}, "sample_rate must be positive, got -1"),
        ({"window": 8}, "sample_rate must be given where files do not say it, got None and 'a.npy'"),
        ({"window": 8, "sample_rate": 1, "channels": "a"}, "channels must be a list of names, got 'a'"),
        ({"window": 8, "sample_rate": 1, "channels": ["a", "b"]}, "line 2: .* channels: 2, as given, got 1"),
    ],
)
def test_wrong_arguments_are_named(three: Path, options: dict, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load_recordings(three, **options)


def test_tables_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"table .*none\.csv' does not exist"):
        load_recordings(tmp_path / "none.csv", window=8)
    with pytest.raises(ValueError, match=r"table must end in \.csv or \.parquet"):
        load_recordings(tmp_path / "table.xlsx", window=8)
    with pytest.raises(ValueError, match="at least one row"):
        load_recordings(table(tmp_path, "file,label"), window=8)
    with pytest.raises(ValueError, match="must not repeat a column, got label"):
        load_recordings(table(tmp_path, "file,label,label", "a,1,1"), window=8)
    (tmp_path / "table.csv").write_bytes(b"file,label\n\xff\xfe,1\n")
    with pytest.raises(ValueError, match="CSV in UTF-8"):
        load_recordings(tmp_path / "table.csv", window=8)
    (tmp_path / "table.parquet").write_bytes(b"junk")
    with pytest.raises(ValueError, match="must be a Parquet file"):
        load_recordings(tmp_path / "table.parquet", window=8)


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 30), st.integers(1, 3))
def test_windows_by_the_definition(length: int, window: int, hop: int, width: int) -> None:
    signal = np.arange(length * width).reshape(length, width)
    expected = [start for start in range(length) if start % hop == 0 and start + window <= length]
    assert window_starts(length, window, hop).tolist() == expected
    if length >= window:
        found = cut_windows(signal, window, hop)
        assert found.shape == (len(expected), window, width)
        for row, start in zip(found, expected, strict=True):
            np.testing.assert_array_equal(row, signal[start : start + window])


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.integers(1, 12),
    st.integers(1, 20),
    st.floats(0.01, 0.99),
    st.sampled_from([0, 0.5, 1, 2]),
    st.integers(0, 10**6),
)
def test_blocks_leak_nothing(  # noqa: PLR0917, hypothesis gives them by place
    counts: list[int], window: int, hop: int, share: float, gap: float, seed: int
) -> None:
    recording = np.repeat(np.arange(len(counts)), counts)
    start = np.concatenate([np.arange(count) * hop for count in counts])
    try:
        held = held_out_blocks(recording, start, (1 + gap) * window, share, np.random.default_rng(seed))
    except ValueError:
        assert (max(counts) - 1) * hop < (1 + gap) * window
        return
    assert held.id.any()
    assert not (held.train & held.id).any()
    for number in range(len(counts)):
        train, kept = (start[part & (recording == number)] for part in (held.train, held.id))
        assert len(train)
        if not len(kept):
            assert len(train) == counts[number]
            continue
        between = np.abs(train[:, None] - kept).min() - window
        assert between >= gap * window
        assert np.diff(kept).tolist() == [hop] * (len(kept) - 1)
        assert len(kept) <= max(1, round(share * counts[number]))


def windows(counts: list[int], conditions: list[str], hop: int = 8) -> Trajectories:
    recording = np.repeat(np.arange(len(counts)), counts)
    start = np.concatenate([np.arange(count) * hop for count in counts])
    condition = np.array(conditions)[recording]
    extra = {"recording": recording, "start": start, "condition": condition}
    x = np.zeros((len(start), 8, 1), dtype=np.float32)
    return Trajectories(x=x, y=recording.astype(float), sample_rate=1.0, channels=("a",), extra=extra)


def places(part: Trajectories) -> set[tuple[int, int]]:
    return set(zip(part.extra["recording"].tolist(), part.extra["start"].tolist(), strict=True))


def test_splits_by_condition() -> None:
    data = windows([50, 40, 30, 1], ["a", "b", "c", "a"], hop=4)
    splits = split_by_condition(data, ood=["c"], seed=3)
    assert places(splits.ood) == {(2, 4 * n) for n in range(30)}
    assert {(r, sum(n == r for n, _ in places(splits.id))) for r in range(4)} == {
        (0, 10),
        (1, 8),
        (2, 0),
        (3, 0),
    }
    assert (3, 0) in places(splits.train)
    for recording, start in places(splits.train):
        assert all(abs(start - other) >= 16 for number, other in places(splits.id) if number == recording)
    lost = 91 - len(splits.train) - len(splits.id)
    assert f"{lost} windows left out as gaps, 1 recordings too short" in splits.train.source
    assert places(split_by_condition(data, ood="c", seed=3).id) == places(splits.id)
    assert any(places(split_by_condition(data, ood="c", seed=s).id) != places(splits.id) for s in range(4))


def test_splits_by_recording() -> None:
    data = windows([3] * 11, ["a"] * 10 + ["15"])
    splits = split_by_condition(data, ood=15, id_by="recording", id_fraction=0.3)
    assert (len(splits.train), len(splits.id), len(splits.ood)) == (21, 9, 3)
    assert not set(splits.train.extra["recording"]) & set(splits.id.extra["recording"])


def test_labels_are_standardised_on_train() -> None:
    data = windows([20, 30, 40, 10], ["a", "a", "a", "b"])
    splits = split_by_condition(data, ood="b")
    np.testing.assert_allclose([splits.train.y.mean(), splits.train.y.std()], [0, 1], atol=1e-12)
    raw = split_by_condition(data, ood="b", standardise=False)
    for name in ("train", "id", "ood"):
        part = getattr(splits, name)
        np.testing.assert_array_equal(part.extra["label"], part.extra["recording"])
        np.testing.assert_array_equal(getattr(raw, name).y, part.extra["recording"])
        np.testing.assert_allclose(part.y, (part.extra["label"] - raw.train.y.mean()) / raw.train.y.std())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"ood": "z"}, "ood must name conditions among a, b, got z"),
        ({"ood": []}, "ood must name conditions among a, b, got none"),
        ({"ood": ["a", "b"]}, "leave a condition to train on"),
        ({"ood": "b", "id_fraction": 1.0}, r"id_fraction must lie in \(0, 1\), got 1"),
        ({"ood": "b", "gap": -1}, "gap must be 0 or more, got -1"),
        ({"ood": "b", "gap": 30}, "gap must leave room .*got 248 samples"),
        ({"ood": "b", "id_by": "recording"}, "must find 2 recordings outside ood, got 1"),
        ({"ood": "b"}, r"label must vary in train .*, got only 0"),
    ],
)
def test_wrong_splits_are_refused(options: dict, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        split_by_condition(windows([20, 20], ["a", "b"]), **options)


def test_splitting_needs_a_condition(three: Path) -> None:
    with pytest.raises(ValueError, match="got no condition; name the column"):
        split_by_condition(load_recordings(three, window=8, sample_rate=1), ood="fast")


@pytest.mark.slow
def test_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    script = ROOT / "docs" / "examples" / "make_recordings.py"
    monkeypatch.setattr(sys, "argv", [str(script), "my_recordings"])
    runpy.run_path(str(script), run_name="__main__")
    page = (ROOT / "docs" / "recordings.md").read_text()
    head, first = (tmp_path / "my_recordings" / "table.csv").read_text().splitlines()[:2]
    assert head in page
    assert ";".join(first.split(";")[:3]) in page
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "recordings.md", "exec"), namespace)
    errors = re.findall(r"(\w+)Readout (\w+) RMSE ([\d.]+)", capsys.readouterr().out)
    found = {(readout, split): float(error) for readout, split, error in errors}
    assert found["Mean", "ID"] < 0.6
    assert found["Mean", "OOD"] > 2 * found["Crest", "OOD"]
