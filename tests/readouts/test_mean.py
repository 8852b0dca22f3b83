import torch

from crest.readouts import make_readout

FEATURES = torch.tensor([[[1.0, 0.0], [3.0, 2.0], [2.0, 7.0], [0.0, 1.0]]])


def test_mean() -> None:
    torch.testing.assert_close(make_readout("mean", 2)(FEATURES), torch.tensor([[1.5, 2.5]]))
