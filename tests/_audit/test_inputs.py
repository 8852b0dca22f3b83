"""What was done to inputs before the model, as far as it can be seen."""

import pytest
import torch
from torch import Tensor

from crest._audit.inputs import preprocessing_seen

STANDARDISED = "look standardised window by window"
COUPLED = "have no mean in any window, as behind AC coupling"
ENVELOPE = "are never negative, as an envelope"


def noise(count: int = 12, channels: int = 2) -> Tensor:
    return 3 * torch.randn(count, 200, channels, generator=torch.Generator().manual_seed(1000)) + 0.5


@pytest.mark.parametrize("correction", [0, 1])
def test_standardised_windows_are_seen_by_either_deviation(correction: int) -> None:
    x = noise()
    made = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True, correction=correction)
    assert preprocessing_seen(made) == STANDARDISED
    made[3] *= 1.1
    assert preprocessing_seen(made) == COUPLED


def test_windows_without_a_mean_are_seen() -> None:
    x = noise()
    assert preprocessing_seen(x - x.mean(1, keepdim=True)) == COUPLED
    # One window with a mean is enough to see that nothing takes it off.
    made = x - x.mean(1, keepdim=True)
    made[0] += 0.1
    assert preprocessing_seen(made) is None


def test_an_envelope_is_seen_and_a_level_above_zero_is_none() -> None:
    x = noise()
    assert preprocessing_seen(x.abs()) == ENVELOPE
    assert preprocessing_seen(x) is None
    assert preprocessing_seen(100 + x) is None


def test_padding_is_not_looked_at() -> None:
    x = noise()
    mask = (torch.arange(260) < 200).expand(len(x), -1)

    def padded(x: Tensor, value: float) -> Tensor:
        return torch.nn.functional.pad(x, (0, 0, 0, 60), value=value)

    coupled = x - x.mean(1, keepdim=True)
    for value in (0.0, -1e6, 1e6):
        assert preprocessing_seen(padded(coupled, value), mask) == COUPLED
        assert preprocessing_seen(padded(x.abs(), value), mask) == ENVELOPE
        assert preprocessing_seen(padded(100 + x, value), mask) is None
    assert preprocessing_seen(padded(coupled, 1e6)) is None


def test_constant_channels_and_a_single_window_say_nothing() -> None:
    assert preprocessing_seen(torch.zeros(8, 50, 1)) is None
    assert preprocessing_seen(torch.full((8, 50, 2), 3.0)) is None
    one = noise(1)
    assert preprocessing_seen(one - one.mean(1, keepdim=True)) is None
    # A dead channel beside a coupled one has no mean either.
    both = torch.cat([noise(8, 1) - noise(8, 1).mean(1, keepdim=True), torch.zeros(8, 200, 1)], 2)
    assert preprocessing_seen(both) == COUPLED
