"""What the patch Transformer computes; what every encoder must obey is in tests/contracts."""

import pytest
import torch

from crest.lab.encoders import PatchEncoder
from encoding import build, signals


@pytest.mark.parametrize(("steps", "left"), [(8, 1), (15, 1), (16, 2), (40, 5), (513, 64)])
def test_an_eighth_of_the_steps_is_left(steps: int, left: int) -> None:
    assert build("patch")(signals(steps=steps, dtype=torch.float32)).shape == (4, left, 32)
    assert PatchEncoder.stride == 8


@pytest.mark.parametrize("steps", [1, 7])
def test_too_short_signals_are_refused(steps: int) -> None:
    with pytest.raises(ValueError, match=f"x must have at least 8 steps for patches, got {steps}"):
        build("patch")(signals(steps=steps, dtype=torch.float32))


def test_a_word_is_one_linear_map_of_its_patch() -> None:
    encoder = build("patch").double()
    x = signals(steps=40)
    patches = x.reshape(4, 5, 8, 3)
    words = torch.einsum("bwsc,dcs->bwd", patches, encoder.patches.weight) + encoder.patches.bias
    torch.testing.assert_close(encoder(x), encoder.transformer(words), rtol=0, atol=1e-12)


def test_steps_that_fill_no_patch_are_not_read() -> None:
    encoder = build("patch").double()
    x = signals(steps=43)
    changed = x.clone()
    changed[:, 40:] = 100.0
    torch.testing.assert_close(encoder(changed), encoder(x), rtol=0, atol=0)


def test_every_patch_sees_every_other() -> None:
    encoder = build("patch").double()
    x = signals(steps=40)
    changed = x.clone()
    changed[:, 33] += 1.0
    assert (encoder(changed) - encoder(x)).abs().amax((0, 2)).gt(1e-6).all()
