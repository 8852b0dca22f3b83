import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from crest.background import low_pass
from crest.background.transience import channel_transience, transience_profile
from reference import crest_reference


def noise(batch: int = 2, steps: int = 90, width: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.randn(
        batch, steps, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )


@given(st.integers(1, 60), st.integers(1, 60), st.sampled_from([1.5, 8.0]), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_residual_matches_the_reference(steps: int, valid: int, sigma: float, seed: int) -> None:
    features = noise(batch=1, steps=steps, seed=seed)
    mask = torch.arange(steps)[None] < valid
    mine = channel_transience(features, mask, sigma)
    theirs = crest_reference.channel_residual(features[0].numpy(), mask[0].numpy(), sigma)
    np.testing.assert_allclose(mine[0].numpy(), theirs, rtol=0, atol=1e-9)


def test_transience_sums_to_one_and_marks_a_spike() -> None:
    features = 0.1 * noise(steps=200)
    features[:, 77] += 5.0
    residual = channel_transience(features)
    torch.testing.assert_close(residual.sum(1), torch.ones(2, 3, dtype=torch.float64))
    assert (residual.argmax(1) == 77).all()
    assert (transience_profile(residual).argmax(1) == 77).all()


def test_a_constant_channel_has_no_transience_at_all() -> None:
    """Also where the constant is no exact binary fraction: rounding noise must not be normalised to one."""
    features = noise(steps=64).float()
    features[:, :, 1] = 0.1
    assert (channel_transience(features)[:, :, 1] == 0).all()
    late_start = torch.arange(64).expand(2, 64) >= 5
    assert (channel_transience(features, late_start)[:, :, 1] == 0).all()


def test_a_slow_ramp_is_background() -> None:
    """A spike outweighs the ends of a ramp, which a periodic filter would take for a jump."""
    features = torch.linspace(0, 1, 400, dtype=torch.float64).reshape(1, 400, 1).clone()
    features[0, 200] += 0.2
    assert channel_transience(features).argmax() == 200


def test_it_can_be_used_alone_with_padding_of_any_content() -> None:
    features = noise(steps=40)
    mask = torch.arange(40).expand(2, 40) < 30
    dirty = features.masked_fill(~mask.unsqueeze(-1), float("nan"))
    result = channel_transience(dirty, mask)
    torch.testing.assert_close(result[:, :30], channel_transience(features[:, :30]), rtol=0, atol=1e-12)
    assert (result[:, 30:] == 0).all()
    assert channel_transience(features.bfloat16()).dtype == torch.float32


def test_far_from_an_event_nothing_is_left_to_rank() -> None:
    """Beyond the kernel's reach the residual of zeros is zero, not what the Fourier transform rounds it to."""
    features = torch.zeros(1, 512, 1)
    features[0, 100:103] = 1.0
    assert (channel_transience(features, sigma=2.0)[0, 130:] == 0).all()
    raw = (features - low_pass(features, sigma=2.0))[0, 130:]
    assert (raw != 0).any()
