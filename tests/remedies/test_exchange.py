import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import crest
from crest.background import KINDS, split


def signals(batch: int = 6, steps: int = 80, channels: int = 2, seed: int = 1000) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(batch, steps, channels, generator=generator)
    made += 10 * torch.randn(batch, 1, channels, generator=generator)
    return made


def seeded(seed: int = 1000) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def nearest_by_search(valid: Tensor, step: int) -> int:
    steps = valid.nonzero().flatten().tolist()
    return min(steps, key=lambda one: (abs(one - step), one))


def donors_of(x: Tensor, out: Tensor, mask: Tensor | None, kind: str) -> list[list[int]]:
    """For each row, the rows whose background it may have now, found by trying them all step by step."""
    valid = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask
    background, transient = split(x, kind, mask)
    found = []
    for row in range(len(x)):
        fitting = []
        for donor in range(len(x)):
            if not valid[donor].any():
                continue
            wanted = torch.stack(
                [background[donor, nearest_by_search(valid[donor], step)] for step in range(x.shape[1])]
            )
            keep = valid[row]
            if torch.allclose(out[row][keep], (transient[row] + wanted)[keep], rtol=1e-4, atol=1e-3):
                fitting.append(donor)
        found.append(fitting)
    return found


@pytest.mark.parametrize("kind", [*KINDS, "slow+level"])
def test_every_row_has_the_background_of_one_other(kind: str) -> None:
    # A tone of its own size in each row, for backgrounds that repeat.
    sizes = torch.arange(5.0, 11.0).reshape(6, 1, 1)
    x = signals() + sizes * torch.sin(2 * torch.pi * torch.arange(80) / 10).reshape(1, 80, 1)
    out = crest.exchange_background(x, kind=kind, probability=1.0, generator=seeded())
    found = donors_of(x, out, None, kind)
    assert all(len(fitting) == 1 for fitting in found)
    assert all(fitting != [row] for row, fitting in enumerate(found))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 1.0]))
def test_masks_of_any_form(seed: int, probability: float) -> None:
    generator = seeded(seed)
    x = signals(5, 20, 1, seed)
    mask = torch.rand(5, 20, generator=generator) < torch.rand(5, 1, generator=generator)
    mask[0] = False
    dirty = x.masked_fill(~mask.unsqueeze(-1), float("nan"))
    out = crest.exchange_background(
        dirty, kind="level", probability=probability, mask=mask, generator=generator
    )
    # Padding as it was, NaN included; a row without valid steps is all padding.
    torch.testing.assert_close(out[~mask], dirty[~mask], rtol=0, atol=0, equal_nan=True)
    changed = [bool((out[row] != dirty[row])[mask[row]].any()) for row in range(5)]
    found = donors_of(x, out, mask, "level")
    several = int(mask.any(1).sum()) > 1
    for row in range(5):
        if mask[row].any():
            assert (row not in found[row] and len(found[row]) > 0) if changed[row] else row in found[row]
            assert probability < 1 or not several or changed[row]
            assert probability > 0 or not changed[row]


def test_the_background_of_a_shorter_donor_is_held_at_its_end() -> None:
    ramp = torch.arange(40.0).reshape(1, 40, 1)
    x = torch.cat([ramp, 100 + ramp])
    mask = torch.arange(40) < torch.tensor([[40], [10]])
    slow = split(x, "slow", mask).background
    out = crest.exchange_background(x, probability=1.0, mask=mask)
    transient = x[0] - slow[0]
    torch.testing.assert_close(out[0, :10], transient[:10] + slow[1, :10])
    torch.testing.assert_close(out[0, 10:], transient[10:] + slow[1, 9])
    torch.testing.assert_close(out[1, 10:], x[1, 10:], rtol=0, atol=0)


def test_the_mask_may_be_of_zeros_and_ones() -> None:
    x, mask = signals(), torch.arange(80) < torch.tensor([[80], [70], [60], [50], [40], [30]])
    one, other = (
        crest.exchange_background(x, mask=flags, generator=seeded()) for flags in (mask, mask.long())
    )
    torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_the_share_of_changed_rows_is_the_probability() -> None:
    x = signals(4000, 3, 1)
    out = crest.exchange_background(x, kind="level", probability=0.3, generator=seeded())
    changed = (out != x).any(2).any(1)
    assert abs(float(changed.float().mean()) - 0.3) < 4 * (0.3 * 0.7 / 4000) ** 0.5
    # The others are the same bits.
    assert torch.equal(out[~changed], x[~changed])


def test_random_donors_are_all_alike() -> None:
    x = torch.arange(5.0).reshape(5, 1, 1)
    counts = torch.zeros(5, 5)
    generator = seeded()
    for _ in range(400):
        got = crest.exchange_background(x, kind="level", probability=1.0, generator=generator)
        counts[torch.arange(5), got.flatten().round().long()] += 1
    assert (counts.diagonal() == 0).all()
    others = counts[~torch.eye(5, dtype=torch.bool)]
    assert ((others - 100).abs() < 5 * (400 * 0.25 * 0.75) ** 0.5).all()


def test_the_same_generator_gives_the_same_and_another_another() -> None:
    x = signals()
    one, two, three = (crest.exchange_background(x, generator=seeded(seed)) for seed in (1000, 1000, 1001))
    assert torch.equal(one, two)
    assert not torch.equal(one, three)
    torch.manual_seed(1000)
    first = crest.exchange_background(x)
    torch.manual_seed(1000)
    assert torch.equal(first, crest.exchange_background(x))


def test_one_trajectory_has_nothing_to_exchange() -> None:
    x = signals(1)
    assert crest.exchange_background(x, probability=1.0) is x
    two, mask = signals(2), torch.ones(2, 80, dtype=torch.bool)
    mask[1] = False
    assert torch.equal(crest.exchange_background(two, probability=1.0, mask=mask), two)


def test_equal_rows_stay_what_they_are() -> None:
    x = torch.ones(4, 10, 1)
    out = crest.exchange_background(x, kind="level", probability=1.0)
    torch.testing.assert_close(out, x, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_dtype_stays(dtype: torch.dtype) -> None:
    x = signals().to(dtype)
    out = crest.exchange_background(x, probability=1.0, generator=seeded())
    assert out.dtype == dtype
    exact = crest.exchange_background(x.double(), probability=1.0, generator=seeded())
    torch.testing.assert_close(out, exact.to(dtype), rtol=0.02, atol=0.02)


def test_gradients_reach_the_row_and_its_donor() -> None:
    x = signals(2).requires_grad_()
    crest.exchange_background(x, kind="level", probability=1.0)[0].sum().backward()
    # The sum over a row's steps is that of the donor's background.
    torch.testing.assert_close(x.grad[0], torch.zeros(80, 2), rtol=0, atol=1e-6)
    torch.testing.assert_close(x.grad[1], torch.ones(80, 2), rtol=0, atol=1e-6)


@pytest.mark.unchecked
def test_arguments_are_checked_by_name() -> None:
    x = signals()
    with pytest.raises(ValueError, match=r"^signals must have shape \(B, T, C\)"):
        crest.exchange_background(x[0])
    with pytest.raises(ValueError, match=r"^kind must be one of level, slow"):
        crest.exchange_background(x, kind="fast")
    with pytest.raises(ValueError, match=r"^probability must lie in \[0, 1\], got 1.5"):
        crest.exchange_background(x, probability=1.5)
    with pytest.raises(ValueError, match=r"^sigma must be positive, got -1"):
        crest.exchange_background(x, sigma=-1)
    with pytest.raises(ValueError, match=r"^mask must have shape \(B, T\) = \(6, 80\)"):
        crest.exchange_background(x, mask=torch.ones(6, 79, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"^kind must be one of level, slow"):
        crest.ExchangeBackground("fast")


def test_the_layer_is_the_function_in_training() -> None:
    x, mask = signals(), torch.arange(80) < torch.tensor([[80], [70], [60], [50], [40], [30]])
    options = {"kind": "slow+level", "probability": 0.7, "sigma": 3.0}
    layer = crest.ExchangeBackground(**options, generator=seeded())
    expected = crest.exchange_background(x, **options, mask=mask, generator=seeded())
    torch.testing.assert_close(layer(x, mask), expected, rtol=0, atol=0)
    assert layer.eval()(x, mask) is x


def test_the_layer_takes_channels_first() -> None:
    x, mask = signals(), torch.arange(80) < torch.tensor([[80], [70], [60], [50], [40], [30]])
    layer = crest.ExchangeBackground(generator=seeded(), channels_first=True)
    out = layer(x.transpose(1, 2).contiguous(), mask)
    expected = crest.exchange_background(x, mask=mask, generator=seeded())
    torch.testing.assert_close(out.transpose(1, 2), expected, rtol=0, atol=0)


def test_the_layer_says_what_it_is() -> None:
    assert repr(crest.ExchangeBackground()) == "ExchangeBackground('slow', probability=0.5)"
    assert repr(crest.ExchangeBackground("level", sigma=3.0, channels_first=True)) == (
        "ExchangeBackground('level', probability=0.5, channels_first=True, sigma=3.0)"
    )
