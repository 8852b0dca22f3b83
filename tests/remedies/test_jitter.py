import pytest
import torch
from torch import Tensor

import crest


def signals(batch: int = 6, steps: int = 20) -> Tensor:
    generator = torch.Generator().manual_seed(1000)
    levels = torch.randn(batch, 1, 2, generator=generator) * torch.tensor([3.0, 0.1])
    return levels + torch.randn(batch, steps, 2, generator=generator) * torch.tensor([1.0, 0.01])


def jitter(seed: int = 1000, **options: object) -> crest.JitterLevel:
    return crest.JitterLevel(**{"probability": 1.0, **options}, generator=torch.Generator().manual_seed(seed))


def test_each_channel_of_a_row_moves_by_a_constant() -> None:
    x = signals()
    moved = jitter()(x) - x
    torch.testing.assert_close(moved, moved[:, :1].expand_as(moved), rtol=0, atol=1e-5)
    assert (moved.abs().amax(1) > 0).all()
    assert len(set(moved[:, 0].flatten().tolist())) == 12


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_the_constants_have_the_deviation_of_the_levels(scale: float) -> None:
    x = signals(20_000, 3)
    constants = (jitter(scale=scale)(x) - x).mean(1)
    expected = scale * x.mean(1).std(0, correction=0)
    torch.testing.assert_close(constants.std(0), expected, rtol=0.03, atol=0)
    assert (constants.mean(0).abs() < 5 * expected / 20_000**0.5).all()
    assert abs(torch.corrcoef(constants.T)[0, 1]) < 0.04


def test_the_share_of_moved_rows_is_the_probability() -> None:
    x = signals(4000, 2)
    moved = (jitter(probability=0.3)(x) != x).any(2).any(1)
    assert abs(float(moved.float().mean()) - 0.3) < 0.03
    assert torch.equal(jitter(probability=0.0)(x), x)
    assert torch.equal(jitter(scale=0.0)(x), x)


def test_one_trajectory_and_equal_levels_stay() -> None:
    x = signals(1)
    assert torch.equal(jitter()(x), x)
    flat = torch.full((5, 7, 1), 0.1)
    assert torch.equal(jitter()(flat), flat)
    two, mask = signals(2), torch.ones(2, 20, dtype=torch.bool)
    mask[0] = False
    assert torch.equal(jitter()(two, mask), two)


def test_padding_stays_and_does_not_count() -> None:
    x, mask = signals(), torch.arange(20) < torch.tensor([[20], [15], [10], [5], [1], [0]])
    dirty = x.masked_fill(~mask.unsqueeze(-1), float("nan"))
    out = jitter()(dirty, mask)
    torch.testing.assert_close(out[~mask], dirty[~mask], rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(out[mask], jitter()(x, mask)[mask], rtol=0, atol=0)


def test_evaluation_mode_is_the_identity() -> None:
    x = signals()
    assert jitter().eval()(x) is x


def test_the_same_generator_gives_the_same() -> None:
    x = signals()
    assert torch.equal(jitter()(x), jitter()(x))
    assert not torch.equal(jitter()(x), jitter(1001)(x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_dtype_stays(dtype: torch.dtype) -> None:
    x = signals().to(dtype)
    out = jitter()(x)
    assert out.dtype == dtype
    torch.testing.assert_close(out, jitter()(x.double()).to(dtype), rtol=0.01, atol=0.01)


def test_channels_first() -> None:
    x = signals()
    first = jitter(channels_first=True)(x.transpose(1, 2))
    torch.testing.assert_close(first.transpose(1, 2), jitter()(x), rtol=0, atol=0)


def test_gradients_are_those_of_a_shift() -> None:
    x = signals().requires_grad_()
    jitter()(x).sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))


def test_it_says_what_it_is_and_checks_its_scale() -> None:
    assert repr(crest.JitterLevel()) == "JitterLevel(scale=1.0, probability=0.5)"
    with pytest.raises(ValueError, match=r"^scale must be 0 or more, got -1"):
        crest.JitterLevel(scale=-1.0)
