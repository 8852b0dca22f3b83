import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_last() -> None:
    torch.testing.assert_close(make_readout("last", 2)(FEATURES), torch.tensor([[0.0, 1.0]]))


def test_last_takes_the_last_valid_step_wherever_it_is() -> None:
    mask = torch.tensor([[True, False, True, False]])
    torch.testing.assert_close(make_readout("last", 2)(FEATURES, mask), FEATURES[:, 2])
