import numpy as np
import torch

from crest.remedies.rows import drawn_donors, random_numbers, row_levels, spread_of_levels


def test_a_generator_repeats_its_numbers_and_leaves_torchs_own_alone() -> None:
    before = torch.get_rng_state()
    first, second = (
        random_numbers(torch.randn, 3, 2, like=torch.zeros(1), generator=torch.Generator().manual_seed(1000))
        for _ in range(2)
    )
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)
    assert first.shape == (3, 2)
    assert not torch.equal(random_numbers(torch.randn, 3, 2, like=first), first)


def test_numbers_are_on_the_device_of_the_batch() -> None:
    like = torch.zeros(1, device="meta")
    assert random_numbers(torch.rand, 2, like=like, generator=torch.Generator()).device.type == "meta"
    assert random_numbers(torch.rand, 2, like=like).device.type == "meta"


def test_levels_are_means_over_valid_steps() -> None:
    x = torch.randn(3, 10, 2, dtype=torch.float64, requires_grad=True)
    valid = torch.arange(10) < torch.tensor([[10], [4], [0]])
    levels = row_levels(x.masked_fill(~valid.unsqueeze(-1), float("nan")), valid)
    torch.testing.assert_close(levels[0], x[0].mean(0).detach())
    torch.testing.assert_close(levels[1], x[1, :4].mean(0).detach())
    assert (levels[2] == 0).all()
    assert not levels.requires_grad
    assert row_levels(torch.ones(1, 2, 1, dtype=torch.float16), valid[:1, :2]).dtype == torch.float32


def test_the_spread_is_that_of_the_rows_present() -> None:
    levels = torch.randn(6, 3, dtype=torch.float64)
    present = torch.tensor([False, True, True, False, True, True])
    expected = np.std(levels.numpy()[present.numpy()], axis=0)
    torch.testing.assert_close(spread_of_levels(levels, present), torch.from_numpy(expected))


def test_equal_levels_have_no_spread_at_all() -> None:
    levels = torch.full((7, 1), 0.1)
    assert spread_of_levels(levels, torch.ones(7, dtype=torch.bool)) == 0
    assert spread_of_levels(torch.randn(3, 1), torch.tensor([False, True, False])) == 0
    assert spread_of_levels(torch.randn(3, 1), torch.zeros(3, dtype=torch.bool)) == 0


def test_donors_are_other_rows_that_are_present() -> None:
    present = torch.tensor([True, False, True, True])
    for seed in range(20):
        numbers = torch.Generator().manual_seed(1000 + seed)
        takes, rows = drawn_donors(present, 1.0, like=torch.zeros(1), generator=numbers)
        assert takes.tolist() == present.tolist()
        assert all(present[rows[takes]])
        assert not (rows[takes] == takes.nonzero().flatten()).any()
    alone = drawn_donors(torch.tensor([True, False]), 1.0, like=torch.zeros(1))
    assert not alone.takes.any()
    assert not drawn_donors(present, 0.0, like=torch.zeros(1)).takes.any()
