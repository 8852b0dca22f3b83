import torch
from torch import nn

from crest._base.recorded import Recorded
from crest.strangers.recorded import inputs_of, rows_of

DATA = Recorded(
    torch.randn(4, 50, 2), torch.zeros(4), (), None, ("a", "b"), None, (), None, torch.zeros(4), {}
)


def test_signals_come_as_the_model_takes_them() -> None:
    turned, first = inputs_of(DATA, nn.Conv1d(2, 3, 5), None)
    assert (first, turned.shape) == (True, (4, 2, 50))
    assert inputs_of(DATA, nn.Linear(2, 1), None)[1] is False
    # One that takes both, and one that takes neither.
    assert inputs_of(DATA, lambda x: x.mean((1, 2)), None)[1] is False
    assert inputs_of(DATA, nn.Conv1d(7, 3, 5), None)[1] is False
    assert inputs_of(DATA, lambda x: x.mean((1, 2)), True)[0].shape == (4, 2, 50)


def test_events_of_some_rows() -> None:
    rows = torch.tensor([0, 3])
    events = torch.arange(4)[:, None].expand(4, 50)
    assert rows_of(events, rows, 4)[:, 0].tolist() == [0, 3]
    assert rows_of(events.tolist(), rows, 4)[:, 0].tolist() == [0, 3]
    assert rows_of("no", rows, 4) == "no"
