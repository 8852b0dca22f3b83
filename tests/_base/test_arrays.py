import pytest
import torch

from crest._base.arrays import at_least_float32, channels_first_of, valid_steps


def test_without_a_mask_every_step_is_valid() -> None:
    for like in (
        torch.zeros(3),
        torch.zeros(2, 3),
        torch.zeros(2, 4, 3, dtype=torch.bool),
        torch.zeros(2, 3).int(),
    ):
        valid = valid_steps(None, like)
        assert valid.dtype == torch.bool
        assert valid.shape == like.shape
        assert valid.all()


def test_a_mask_is_spread_over_the_leading_axes() -> None:
    mask = torch.tensor([[True, False, True], [False, False, True]])
    assert torch.equal(valid_steps(mask, torch.zeros(2, 3)), mask)
    spread = valid_steps(mask.unsqueeze(1), torch.zeros(2, 4, 3))
    assert torch.equal(spread, mask.unsqueeze(1).repeat(1, 4, 1))


def test_the_device_is_that_of_the_tensor() -> None:
    assert valid_steps(None, torch.empty(2, 3, device="meta")).device.type == "meta"


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ([], torch.float32),
        ([torch.float16], torch.float32),
        ([torch.bfloat16, torch.float64], torch.float64),
        ([torch.int64], torch.float32),
    ],
)
def test_the_widest_dtype_is_float32_at_least(dtypes: list[torch.dtype], expected: torch.dtype) -> None:
    assert at_least_float32(*(torch.zeros(1, dtype=dtype) for dtype in dtypes)) == expected


def test_one_channel_is_laid_out_as_a_convolution_trains_on_it() -> None:
    """Strides (T, 1, 1) crash the backward pass of torch's Conv1d on a CPU; those of a fresh tensor do not."""
    for width in (1, 3):
        signals = torch.randn(4, 9, width)
        turned = channels_first_of(signals)
        assert torch.equal(turned, signals.transpose(1, 2))
        assert width > 1 or turned.stride() == torch.empty(4, 1, 9).stride()
