import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_mean() -> None:
    torch.testing.assert_close(make_readout("mean", 2)(FEATURES), torch.tensor([[1.5, 2.5]]))
