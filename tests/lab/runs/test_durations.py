from pathlib import Path

import pytest

from crest.lab.runs.durations import TimeLeft, kept_seconds, run_kinds, seconds_of, time_in_words
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.training import Schedule
from sweeping import made_up, tiny

UNKNOWN = "time left unknown until the first run is done"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def runs(count: int, **fields: object) -> list[RunSpec]:
    return [tiny(seed=1000 + number, **fields) for number in range(count)]


def test_the_exchange_is_a_part_of_the_measuring() -> None:
    assert seconds_of({"data": 1.0, "training": 2.0, "measuring": 4.0, "exchange": 3.0}) == 7.0


def test_a_kind_is_the_encoder_on_the_data_for_as_long_whatever_the_seed() -> None:
    narrow, wide = run_kinds(tiny().to_dict())
    assert run_kinds(tiny(seed=7, measures=("traces",)).to_dict()) == (narrow, wide)
    other = run_kinds(tiny("crest").to_dict())
    assert (other[0] == narrow, other[1] == wide) == (False, True)
    for change in (
        {"encoder": "gru"}, {"regime": "coarse_mesh"}, {"system_options": {"teeth": 20}}, {"measures": ("saliency",)},
        {"schedule": Schedule(epochs=9, batch=8)},
    ):  # fmt: skip
        assert run_kinds(tiny(**change).to_dict())[1] != wide
    # Records from before there was a front.
    before = {key: value for key, value in tiny().to_dict().items() if not key.startswith("front")}
    assert run_kinds(before) == (narrow, wide)


def test_nothing_is_known_until_the_first_run_is_done_and_then_the_real_time_is() -> None:
    clock, specs = Clock(), runs(5)
    left = TimeLeft(specs, clock=clock)
    assert (left.seconds(), left.words()) == (None, UNKNOWN)
    left.started(specs[0].id)
    clock.now += 60
    assert left.words() == UNKNOWN
    left.settled(specs[0].id, took=60.0)
    assert left.seconds() == 4 * 60
    # A run in progress needs what is left of it, and never less than nothing.
    left.started(specs[1].id)
    clock.now += 20
    assert left.seconds() == 3 * 60 + 40
    clock.now += 100
    assert left.seconds() == 3 * 60
    # One that failed or was found takes nothing, and says nothing about the others.
    left.settled(specs[1].id)
    left.settled(specs[2].id)
    assert (left.seconds(), left.words()) == (120, "about 2 min left")


def test_several_at_a_time_share_the_work_but_not_one_run() -> None:
    specs = runs(5)
    left = TimeLeft(specs, slots=lambda: 3)
    left.settled(specs[0].id, took=30.0)
    assert left.seconds() == 40
    for spec in specs[1:4]:
        left.settled(spec.id)
    assert left.seconds() == 30


def test_kept_records_of_the_same_kind_tell_it_before(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for spec, seconds in zip(runs(2), (10.0, 30.0), strict=True):
        store.write(made_up(spec, seconds={"data": 1.0, "training": seconds - 1, "exchange": 5.0}))
    (tmp_path / "damaged.json").write_text("{")
    kept, later = kept_seconds(store), runs(4)[2:]
    assert TimeLeft(later, kept).words() == "about 40 s left, estimated from kept records of similar runs"
    # Another readout of the same encoder on the same data takes about as long; another encoder does not.
    assert TimeLeft(runs(2, readout="crest"), kept).seconds() == 40
    gru = runs(1, encoder="gru")
    assert TimeLeft([*later, *gru], kept).seconds() is None
    # Where this sweep is half as fast as the records, it stays so; what nothing is known of takes the mean of this sweep.
    own = TimeLeft([*later, *runs(1, readout="crest"), *gru], kept)
    own.settled(gru[0].id, took=50.0)
    assert own.seconds() == 60
    own.settled(later[0].id, took=40.0)
    assert own.seconds() == 80
    assert own.words() == "about 80 s left"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "1 s"), (99.4, "99 s"), (100, "2 min"), (3570, "1 h"), (7500, "2 h 5 min"), (48 * 3600, "2 d")],
)
def test_a_time_is_told_in_words(seconds: float, words: str) -> None:
    assert time_in_words(seconds) == words
