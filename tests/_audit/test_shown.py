"""The trajectories that the page shows."""

import math

import pytest
import torch

from crest._audit import audit
from crest._audit.shown import SHOWN
from packed_made import Packed, ragged


def test_they_go_from_the_lowest_target_to_the_highest_whatever_the_model() -> None:
    x = torch.randn(64, 60, 2)
    targets = torch.randn(64)
    found = audit(lambda x: x.mean((1, 2)), (x, targets)).named(channels=["a", "b"])
    rows = found.traces.rows
    assert len(rows) == SHOWN
    wanted = [row.y for row in rows]
    assert wanted == sorted(wanted)
    assert wanted[0] == targets.min().item()
    assert rows[0].prediction == pytest.approx(x[rows[0].index].mean().item(), abs=1e-6)
    assert rows[0].signals[1] == x[rows[0].index, :, 1].tolist()
    assert found.traces.channels == ["a", "b"]
    other = audit(lambda x: -x.amax((1, 2)), (x, targets)).traces
    assert [row.index for row in other.rows] == [row.index for row in rows]
    assert other.channels == ["channel 0", "channel 1"]


def test_few_are_all_shown() -> None:
    assert len(audit(lambda x: x.mean((1, 2)), torch.randn(5, 60, 1)).traces.rows) == 5


def test_there_is_nothing_on_padding() -> None:
    x, y, lengths = ragged()
    events = torch.zeros(x.shape[:2], dtype=torch.bool)
    events[:, [3, -1]] = True
    for model in (Packed(), lambda x, lengths: x[:, 0, 0]):
        for row in audit(model, (x, y, lengths), events=events).traces.rows:
            end = int(lengths[row.index])
            series = [
                *row.signals,
                row.credit,
                row.votes,
                *([] if row.transience is None else [row.transience]),
            ]
            for values in series:
                assert len(values) == x.shape[1]
                assert not any(map(math.isnan, values[:end]))
                assert all(map(math.isnan, values[end:]))
            assert row.events == ([3] if end < x.shape[1] else [3, x.shape[1] - 1])
