import pytest
import torch

from crest.readouts import make_readout
from four_steps import FEATURES


def test_registers_take_part_of_the_attention() -> None:
    readout = make_readout("registers", 2, registers=3)
    tokens = torch.cat([FEATURES[0], readout.registers])
    weights = torch.softmax((tokens @ readout.query) / 2**0.5, 0)
    torch.testing.assert_close(readout(FEATURES)[0], weights @ tokens)
    torch.testing.assert_close(readout.step_weights(FEATURES)[0], weights[:4] / weights[:4].sum())


def test_the_number_of_registers_is_checked() -> None:
    with pytest.raises(ValueError, match=r"^registers must be a whole number, 1 or more, got 0$"):
        make_readout("registers", 2, registers=0)
