"""What the CNN computes; what every encoder must obey is in tests/contracts."""

import pytest
import torch

from crest.lab.encoders import CnnEncoder
from encoding import CHANNELS, build, seen_steps, signals


@pytest.mark.parametrize(("steps", "left"), [(4, 1), (6, 1), (7, 2), (8, 2), (9, 2), (40, 10), (513, 128)])
def test_a_quarter_of_the_steps_is_left(steps: int, left: int) -> None:
    assert build("cnn").eval()(signals(steps=steps, dtype=torch.float32)).shape == (4, left, 32)
    assert CnnEncoder.stride == 4


@pytest.mark.parametrize("steps", [1, 3])
def test_too_short_signals_are_refused(steps: int) -> None:
    with pytest.raises(ValueError, match=f"x must have at least 4 steps for the CNN, got {steps}"):
        build("cnn")(signals(steps=steps, dtype=torch.float32))


def test_a_feature_sees_its_stretch_and_some_steps_around_it() -> None:
    """In evaluation, where the normalisation is fixed; which of two steps a max-pool takes depends on the signal."""
    seen = seen_steps(CnnEncoder(CHANNELS).eval(), 5)
    assert {4 * 5 + step for step in range(4)} <= set(seen) <= set(range(4 * 5 - 15, 4 * 5 + 18))


def test_features_are_not_negative_and_follow_a_shift_by_whole_strides() -> None:
    encoder = build("cnn").double().eval()
    x = signals(steps=80)
    features, later = encoder(x), encoder(x.roll(8, 1))
    assert features.min() == 0
    torch.testing.assert_close(later[:, 6:-6], features[:, 4:-8], rtol=0, atol=1e-12)
