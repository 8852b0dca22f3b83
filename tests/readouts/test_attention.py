import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_attention_is_a_scaled_softmax() -> None:
    readout = make_readout("attention", 2)
    scores = (FEATURES[0] @ readout.query) / 2**0.5
    torch.testing.assert_close(readout(FEATURES)[0], torch.softmax(scores, 0) @ FEATURES[0])


def test_attention_can_find_the_event() -> None:
    readout = make_readout("attention", 2)
    with torch.no_grad():
        readout.query.copy_(torch.tensor([0.0, 50.0]))
    torch.testing.assert_close(readout(FEATURES), FEATURES[:, 2])
