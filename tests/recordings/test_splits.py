from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crest.recordings import RecordingOptions, load_recordings, split_by_column, split_by_condition
from crest.recordings.splits import held_out_blocks
from crest.recordings.trajectories import Trajectories
from recordings_made import load, table


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.integers(1, 12),
    st.integers(1, 20),
    st.floats(0.01, 0.99),
    st.sampled_from([0, 0.5, 1, 2]),
    st.integers(0, 10**6),
)
def test_blocks_leak_nothing(
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
    splits = split_by_condition(data, ood="b", standardise_labels=True)
    np.testing.assert_allclose([splits.train.y.mean(), splits.train.y.std()], [0, 1], atol=1e-12)
    raw = split_by_condition(data, ood="b")
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
        ({"ood": "b", "standardise_labels": True}, r"label must vary in train .*, got only 0"),
        ({"ood": "b", "id_by": "group"}, r"must have recording, start and group in extra"),
    ],
)
def test_wrong_splits_are_refused(options: dict, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        split_by_condition(windows([20, 20], ["a", "b"]), **options)


def test_splitting_needs_a_condition(three: Path) -> None:
    with pytest.raises(ValueError, match="got no condition; name the column"):
        split_by_condition(load_recordings(three, window=8, sample_rate=1), ood="fast")


def test_labels_are_as_in_the_table_unless_asked(three: Path) -> None:
    data = load(three)
    raw = split_by_condition(data, ood="fast", id_by="recording")
    assert set(raw.train.y) | set(raw.id.y) | set(raw.ood.y) == {1, 2, 3}
    assert raw.train.options is not None
    assert raw.train.options.label_units == "as in column 'label'"


def test_shift_and_scale_of_labels_travel_with_the_options(tmp_path: Path) -> None:
    for number in range(4):
        np.save(tmp_path / f"{number}.npy", np.arange(40))
    path = table(tmp_path, "file,label,speed", "0.npy,2,a", "1.npy,5,a", "2.npy,8,a", "3.npy,5,b")
    data = load_recordings(path, window=10, sample_rate=1, condition="speed")
    splits = split_by_condition(data, ood="b", id_by="recording", standardise_labels=True)
    assert splits.train.y.std() == pytest.approx(1)
    splits.train.options.save(tmp_path / "settings.json")
    again = load_recordings(
        path, options=RecordingOptions.load(tmp_path / "settings.json"), condition="speed"
    )
    assert (again.y * again.options.label_scale + again.options.label_mean).tolist() == pytest.approx(
        data.y.tolist()
    )
    np.testing.assert_allclose(again[again.extra["condition"] == "b"].y, splits.ood.y)
    np.testing.assert_allclose(
        splits.train.y * again.options.label_scale + again.options.label_mean, splits.train.extra["label"]
    )


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Two files of 100 samples, of which each has three rows, in seconds, samples and shares."""
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", np.arange(100) + 1000 * (name == "b"))
    return table(
        tmp_path,
        "file,label,speed,load,part,machine,start,stop",
        "a.npy,1,600,low,train,m1,,6",
        "b.npy,2,900,low,train,m2,,60 %",
        "a.npy,1,600,high,id,m1,6 s,80 samples",
        "b.npy,2,900,high,ood,m2,80 samples,",
    )


PARTS = {"window": 10, "sample_rate": 10, "start": "start", "stop": "stop"}


def test_a_column_says_what_is_held_out(parts: Path) -> None:
    data = load_recordings(parts, **PARTS, split="part", condition=["speed", "load"])
    splits = split_by_column(data)
    assert [len(part) for part in (splits.train, splits.id, splits.ood)] == [12, 2, 2]
    assert splits.id.x[:, 0, 0].tolist() == splits.id.extra["start"].tolist() == [60, 70]
    assert splits.ood.x[:, 0, 0].tolist() == [1080, 1090]
    with pytest.raises(ValueError, match=r"name the column: load_recordings\(..., split=...\)"):
        split_by_column(load_recordings(parts, **PARTS))


def test_without_id_rows_a_block_of_each_file_is_held_out_whatever_its_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(200))
    path = table(
        tmp_path,
        "file,label,part,start,stop",
        "a.npy,1,train,,50 %",
        "a.npy,2,train,50 %,90 %",
        "a.npy,3,ood,90 %,",
    )
    for seed in range(8):
        splits = split_by_column(load_recordings(path, **PARTS, split="part"), seed=seed)
        distance = np.abs(splits.train.extra["start"][:, None] - splits.id.extra["start"])
        assert distance.min() >= 20


def test_ood_names_a_column_of_several(parts: Path) -> None:
    data = load_recordings(parts, **PARTS, condition=["speed", "load"])
    assert len(split_by_condition(data, ood="load=high").ood) == 4
    assert set(split_by_condition(data, ood="900, high").ood.extra["file"]) == {"b.npy"}
    with pytest.raises(
        ValueError, match=r"ood must name conditions among .*speed=600; speed=900.*did you mean 'load=high'"
    ):
        split_by_condition(data, ood="load=hihg")


def test_whole_groups_are_held_out(parts: Path) -> None:
    data = load_recordings(parts, **PARTS, split="part", group="machine")
    data = data[data.extra["split"] == "train"]
    splits = split_by_column(data, id_by="group")
    assert len(set(splits.train.extra["group"])) == len(set(splits.id.extra["group"])) == 1
    assert set(splits.train.extra["group"]) != set(splits.id.extra["group"])
