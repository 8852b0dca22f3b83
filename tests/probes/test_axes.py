"""A default order of the axes that looks wrong is told where the user called."""

import warnings

import pytest
import torch

import crest
from crest.probes.axes import warn_of_axes

QUICK = crest.ExchangeSettings(trajectories=8, block=4)


def test_one_step_is_told_in_the_singular() -> None:
    with pytest.warns(UserWarning, match=r"makes 1 step of 200 channels of the inputs \(96, 1, 200\)"):
        warn_of_axes(False, (96, 1, 200), None)
    with pytest.warns(UserWarning, match=r"the first layer takes 1 channel: is"):
        warn_of_axes(False, (96, 1, 200), True)


def test_the_exchange_test_warns_of_its_default_too() -> None:
    signals = torch.randn(16, 1, 50)
    with pytest.warns(UserWarning, match="makes 1 step of 50 channels") as told:
        crest.exchange_test(lambda x: x.mean((1, 2)), signals, exchange=QUICK)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crest.exchange_test(lambda x: x.mean((1, 2)), signals, channels_first=True, exchange=QUICK)
        crest.exchange_test(lambda x: x.mean((1, 2)), signals.mT, exchange=QUICK)
