import pytest
import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_event_window_averages_valid_event_steps_and_else_everything() -> None:
    readout = make_readout("event_window", 2)
    events = torch.tensor([[False, True, True, False]])
    torch.testing.assert_close(readout(FEATURES, events), torch.tensor([[2.5, 4.5]]))
    mask = torch.tensor([[True, True, False, True]])
    torch.testing.assert_close(readout(FEATURES, events, mask), torch.tensor([[3.0, 2.0]]))
    torch.testing.assert_close(readout(FEATURES, torch.zeros_like(events)), torch.tensor([[1.5, 2.5]]))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_events_of_zeros_and_ones_are_events(dtype: torch.dtype) -> None:
    readout = make_readout("event_window", 2)
    events = torch.tensor([[False, True, True, False]])
    for method in (readout.forward, readout.step_weights):
        assert torch.equal(method(FEATURES, events.to(dtype)), method(FEATURES, events))
    with pytest.raises(ValueError, match=r"^events must hold booleans or the integers 0 and 1, got 3$"):
        readout(FEATURES, 3 * events.to(dtype))
    taken = make_readout("event_window", 2, validate=False)(FEATURES, 3 * events.to(dtype))
    assert torch.equal(taken, readout(FEATURES, events))


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            torch.ones(1, 4),
            r"^events must hold booleans .* \(events\.bool\(\) converts\), got torch.float32$",
        ),
        (torch.ones(1, 3).bool(), r"^events must have shape \(B, T\) = \(1, 4\), got \(1, 3\)$"),
        ([[True]], "^events must be a torch tensor, got list$"),
    ],
)
def test_wrong_events_are_refused_by_name(events: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_readout("event_window", 2)(FEATURES, events)
