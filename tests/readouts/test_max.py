import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_max_and_its_shares() -> None:
    torch.testing.assert_close(make_readout("max", 2)(FEATURES), torch.tensor([[3.0, 7.0]]))
    torch.testing.assert_close(
        make_readout("max", 2).step_weights(FEATURES), torch.tensor([[0, 0.5, 0.5, 0]])
    )
