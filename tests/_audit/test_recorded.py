"""Every door takes trajectories as `crest.recordings` loads them, with what they know about themselves."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import crest
from crest.recordings import RecordingOptions
from crest.recordings.trajectories import Trajectories

QUICK = crest.ExchangeSettings(trajectories=16, block=4)


def loaded(count: int = 40, classes: tuple[str, ...] = (), **extra: Any) -> Trajectories:
    """Windows of ten recordings, with a knock whose height is the label."""
    numbers = np.random.default_rng(1000)
    y = np.arange(count) % 2.0 if classes else numbers.normal(size=count)
    x = 0.1 * numbers.normal(size=(count, 60, 1)) + numbers.normal(size=(count, 1, 1))
    x[:, 30:33, 0] += y[:, None]
    place = np.arange(count)
    files = np.array([f"{number}.npy" for number in place // 4])
    known = {
        "file": files,
        "recording": place // 4,
        "start": place % 4 * 60,
        "condition": np.array(["600"] * count),
    }
    return Trajectories(
        x=x, y=y, sample_rate=100.0, channels=("force",), classes=classes, extra=known | extra,
        options=RecordingOptions(window=60, sample_rate=100, condition="speed"), events=np.abs(x[..., 0]) > 9,
    )  # fmt: skip


def model(outputs: int = 1) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv1d(1, 4, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, outputs)
    )


def test_an_audit_has_names_times_and_groups_by_itself() -> None:
    found = crest.audit(model(), loaded(), exchange=QUICK)
    assert (found.trajectories, found.brought, found.sample_rate) == (16, 40, 100.0)
    # Spread evenly over all, and not the first ones.
    assert (found.names[0], found.names[-1]) == ("0.npy, 0 s, 600", "9.npy, 1.8 s, 600")
    assert found.groups == 10
    assert found.traces is not None
    assert found.traces.channels == ["force"]
    assert any(note.startswith("16 of 40 trajectories were looked at, spread evenly") for note in found.notes)
    assert any(note.startswith("intervals are over recordings or groups") for note in found.notes)


def sized() -> Trajectories:
    """Three sizes at two speeds, standardised."""
    data = loaded(48)
    sizes, speed = np.arange(48) % 3 * 3.0 + 2, np.arange(48) // 3 % 2 * 300 + 600
    options = dataclasses.replace(
        data.options or RecordingOptions(window=60), label_mean=5.0, label_scale=6**0.5
    )
    return dataclasses.replace(
        data, y=(sizes - 5) / 6**0.5, extra={**data.extra, "condition": speed.astype(str)}, options=options
    )


@pytest.mark.parametrize("name", ["condition", "speed"])
def test_a_column_of_extra_gives_conditions_and_targets_are_told_as_in_the_table(name: str) -> None:
    data = sized()
    audited, read = (
        crest.audit(model(), data, conditions=name, exchange=QUICK),
        crest.cues(data, conditions=name),
    )
    assert audited.tie is not None
    assert read.tie is not None
    assert audited.tie.targets == read.tie.targets == ("2", "5", "8")
    assert audited.tie.conditions == read.tie.conditions == ("600", "900")
    for door in (lambda **more: crest.audit(model(), data, **more), lambda **more: crest.cues(data, **more)):
        with pytest.raises(ValueError, match=r"conditions must name a column of extra, one of .*, got 'rpm'"):
            door(conditions="rpm")


def test_it_is_the_audit_of_the_arrays() -> None:
    data, whole = loaded(16), crest.ExchangeSettings(trajectories=16, block=4)
    x, y, *_ = data.tensors()
    mine = crest.audit(model(), data, exchange=whole, groups=range(16))
    plain = crest.audit(model(), (x.mT, y), channels_first=True, exchange=whole, groups=range(16))
    assert (mine.error, mine.exchange) == (plain.error, plain.exchange)
    assert mine.groups == 16


def test_what_is_given_belongs_to_the_trajectories_that_are_looked_at() -> None:
    data, seen = loaded(), []

    def error(predictions: torch.Tensor, targets: torch.Tensor) -> float:
        seen.append(len(targets))
        return float((predictions.reshape(-1) - targets).abs().mean())

    place = [f"{number}" for number in np.arange(40) // 4]
    found = crest.audit(model(), data, conditions=place, events=data.events, error=error, exchange=QUICK)
    assert set(found.by_condition or {}) <= set(place)
    assert max(int(name) for name in found.by_condition or {}) == 9
    with pytest.raises(ValueError, match="conditions"):
        crest.audit(model(), data, conditions=place[:7], exchange=QUICK)


def test_classes_have_their_names() -> None:
    data = loaded(classes=("ok", "worn"))
    found = crest.audit(model(2), data, conditions=data.extra["recording"] % 3, exchange=QUICK)
    assert found.classes == ("ok", "worn")
    assert found.tie is not None
    assert found.tie.targets == ("ok", "worn")


def test_the_other_doors_take_them_too() -> None:
    data = loaded()
    x, y, *_ = data.tensors()
    groups = data.extra["recording"]
    tested = crest.exchange_test(lambda x: x.amax((1, 2)), data, exchange=QUICK)
    assert tested == crest.exchange_test(
        lambda x: x.amax((1, 2)), x, targets=y, groups=groups, exchange=QUICK
    )
    read = crest.cues(data)
    assert read.groups == 10
    assert read["core"].score == crest.cues(x, y, groups=groups)["core"].score
    assert crest.cues(loaded(classes=("ok", "worn"))).classes == ("ok", "worn")
    watch = crest.Watch(model(), data, exchange=QUICK)
    assert "crest/expected_error" in watch(0)
    with pytest.raises(
        ValueError,
        match=r"^train_batches must hold batches, got Trajectories: take x, y, \*_ = part\.tensors",
    ):
        crest.repair(model(), data)


def test_few_recordings_are_not_left_out_as_a_whole() -> None:
    read = crest.cues(loaded(12))
    assert read.groups is None
    assert any("left out one by one" in note for note in read.notes)


def test_trajectories_without_files_have_no_names() -> None:
    plain = Trajectories(
        x=np.random.default_rng(0).normal(size=(16, 40, 1)), y=np.zeros(16), sample_rate=2.0, channels=("a",)
    )
    found = crest.audit(lambda x: x.mean((1, 2)), plain, exchange=QUICK)
    assert (found.names, found.sample_rate, found.groups) == ((), None, None)
