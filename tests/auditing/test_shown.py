"""The trajectories that the page shows."""

import pytest
import torch

from crest.auditing import audit
from crest.auditing.shown import SHOWN


def test_they_go_from_the_lowest_target_to_the_highest_whatever_the_model() -> None:
    x = torch.randn(64, 60, 2)
    targets = torch.randn(64)
    found = audit(lambda x: x.mean((1, 2)), (x, targets), channels=["a", "b"])
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
