"""What the residual CNN computes; what every encoder must obey is in tests/contracts."""

import pytest
import torch

from crest.lab.encoders import ResidualEncoder
from encoding import CHANNELS, build, seen_steps, signals


@pytest.mark.parametrize(("steps", "left"), [(4, 1), (5, 1), (7, 1), (8, 2), (40, 10), (513, 128)])
def test_a_quarter_of_the_steps_is_left(steps: int, left: int) -> None:
    assert build("residual").eval()(signals(steps=steps, dtype=torch.float32)).shape == (4, left, 32)
    assert ResidualEncoder.stride == 4


@pytest.mark.parametrize("steps", [1, 3])
def test_too_short_signals_are_refused(steps: int) -> None:
    with pytest.raises(ValueError, match=f"x must have at least 4 steps for the residual CNN, got {steps}"):
        build("residual")(signals(steps=steps, dtype=torch.float32))


def test_a_feature_sees_its_stretch_and_some_steps_around_it() -> None:
    """3 steps to either side of the first convolution, and 2 of each of the four behind it, every second or fourth step apart."""
    seen = seen_steps(ResidualEncoder(CHANNELS).eval(), 5)
    reach = 3 + 2 * 2 + 3 * (2 * 4)
    assert (
        {4 * 5 + step for step in range(-3, 4)} <= set(seen) <= set(range(4 * 5 - reach, 4 * 5 + reach + 1))
    )


def test_a_shortcut_leads_past_the_convolutions() -> None:
    """With both convolutions of each block silent, the shortcuts alone carry the signal."""
    encoder = build("residual").double().eval()
    with torch.no_grad():
        for name, one in encoder.named_parameters():
            if ".second" in name:
                one.zero_()
    x = signals(steps=40)
    first = encoder.layers[:3](x.mT)
    expected = encoder.layers[3].shortcut(first).relu().mT
    torch.testing.assert_close(encoder(x), expected, rtol=0, atol=1e-12)
    assert expected.std() > 0


def test_features_are_not_negative_and_follow_a_shift_by_whole_strides() -> None:
    encoder = build("residual").double().eval()
    x = signals(steps=120)
    features, later = encoder(x), encoder(x.roll(8, 1))
    assert features.min() == 0
    torch.testing.assert_close(later[:, 11:-9], features[:, 9:-11], rtol=0, atol=1e-12)
