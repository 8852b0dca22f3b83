"""The trajectories that the page shows."""

import torch

from crest.auditing import audit
from crest.auditing.shown import SHOWN


def test_they_go_from_the_lowest_answer_to_the_highest() -> None:
    x = torch.randn(64, 60, 2)
    found = audit(lambda x: x.mean((1, 2)), x)
    rows = found.traces.rows
    assert len(rows) == SHOWN
    answers = [row.prediction for row in rows]
    assert answers == sorted(answers)
    assert answers[0] == min(x.mean((1, 2)).tolist())
    assert rows[0].signals[1] == x[rows[0].index, :, 1].tolist()
    assert found.traces.channels == ["channel 0", "channel 1"]


def test_few_are_all_shown() -> None:
    assert len(audit(lambda x: x.mean((1, 2)), torch.randn(5, 60, 1)).traces.rows) == 5
