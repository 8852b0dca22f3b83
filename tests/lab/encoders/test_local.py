import pytest
import torch
from torch import Tensor

from crest.lab.encoders import Encoder, LocalEncoder

CHANNELS = 3


def signals(batch: int = 4, steps: int = 40, dtype: torch.dtype = torch.float64) -> Tensor:
    draw = torch.Generator().manual_seed(7)
    return torch.randn(batch, steps, CHANNELS, generator=draw, dtype=torch.float64).to(dtype)


def seen_steps(encoder: Encoder, step: int, steps: int = 40) -> list[int]:
    """The steps that the feature of one step depends on."""
    x = signals(2, steps).requires_grad_()
    weights = torch.randn(encoder.width, dtype=torch.float64)
    (encoder.double()(x)[0, step] * weights).sum().backward()
    assert x.grad is not None
    assert (x.grad[1] == 0).all()
    return x.grad[0].ne(0).any(-1).nonzero().flatten().tolist()


@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_a_local_feature_sees_two_kernels_less_one_centred_on_its_step(kernel: int) -> None:
    seen = seen_steps(LocalEncoder(CHANNELS, kernel=kernel), 20)
    assert seen == list(range(20 - (kernel - 1), 20 + kernel))
    assert len(seen) == 2 * kernel - 1
