import pytest
import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_windows_are_attended_alone_and_averaged() -> None:
    readout = make_readout("windowed", 2, window=3)
    scores = (FEATURES[0] @ readout.query) / 2**0.5
    first = torch.softmax(scores[:3], 0) @ FEATURES[0, :3]
    torch.testing.assert_close(readout(FEATURES)[0], (first + FEATURES[0, 3]) / 2)
    whole = make_readout("windowed", 2, window=9)
    with torch.no_grad():
        whole.query.copy_(readout.query)
    torch.testing.assert_close(whole(FEATURES)[0], torch.softmax(scores, 0) @ FEATURES[0])


@pytest.mark.parametrize("window", [0, -3])
def test_the_window_is_checked(window: int) -> None:
    with pytest.raises(ValueError, match=rf"^window must be a whole number, 1 or more, got {window}$"):
        make_readout("windowed", 2, window=window)
