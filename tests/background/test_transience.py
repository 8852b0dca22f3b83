import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from crest.background import low_pass, transience
from crest.background.transience import (
    channel_transience,
    dilate,
    selected_count,
    top_steps,
    transience_profile,
    vote_count,
)
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


@pytest.mark.parametrize(
    ("epsilon", "steps", "dilation", "expected"),
    [
        (0.1, 500, 2, 10),
        (0.1, 501, 2, 11),
        (0.3, 65536, 2, 3933),
        (0.02, 10, 2, 1),
        (0.2, 100, 0, 20),
        (0.25, 8, 1, 1),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_selected_count_by_hand(
    epsilon: float, steps: int, dilation: int, expected: int, dtype: torch.dtype
) -> None:
    assert int(selected_count(torch.tensor(epsilon, dtype=dtype), torch.tensor(steps), dilation)) == expected


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_top_steps_are_the_largest(steps: int, wanted: int, seed: int) -> None:
    # No two are alike, and none nearly: what is alike to rounding is selected together.
    ranking = torch.rand(2, steps, 3, generator=torch.Generator().manual_seed(seed)).argsort(1).float()
    wanted = min(wanted, steps)
    selected = top_steps(ranking, torch.full((2, 1), wanted))
    assert (selected.sum(1) == wanted).all()
    inside = ranking.masked_fill(~selected, torch.inf).amin(1)
    outside = ranking.masked_fill(selected, -torch.inf).amax(1)
    assert (inside > outside).all()


@pytest.mark.unchecked
@pytest.mark.parametrize("steps", [1, 30, 1500])
@pytest.mark.parametrize("positive", [False, True])
def test_the_kth_largest_by_numpy_is_that_by_torch(steps: int, positive: bool) -> None:
    """Short ones are sorted, long ones partitioned; a series may have fewer positive values than are asked for, or none."""
    ranking = torch.rand(3, steps, 4)
    ranking[0, :, 0], ranking[1, steps // 20 :, 1], ranking[2, 1:] = 0, 0, 0
    ranking[..., 3] -= 0.0 if positive else 0.5
    before = ranking.clone()
    for count in (1, 2, steps // 10 + 1, steps):
        wanted = torch.full((3, 4), count).clamp(max=steps)
        found = torch.ops.crest.kth_largest(ranking, wanted, steps, positive)
        torch.testing.assert_close(
            found, transience._kth_by_torch(ranking, wanted, steps, positive), rtol=0, atol=0
        )
        kept = wanted.minimum((ranking > 0).sum(1)).clamp(min=1) if positive else wanted
        expected = ranking.sort(1, descending=True).values.gather(1, kept.unsqueeze(1) - 1).squeeze(1)
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert torch.equal(ranking, before)
    # One channel is in order in memory: what is sorted there must be a copy.
    single = ranking[..., 1:2].contiguous()
    torch.ops.crest.kth_largest(single, torch.ones(3, 1, dtype=torch.int64), steps, positive)
    assert torch.equal(single, before[..., 1:2])
    torch.library.opcheck(torch.ops.crest.kth_largest.default, (ranking, wanted, steps, positive))


@pytest.mark.unchecked
def test_the_widening_operator_is_well_formed() -> None:
    torch.library.opcheck(torch.ops.crest.widened.default, (torch.rand(2, 9, 3) > 0.8, 2))


def test_count_may_differ_by_trajectory_and_by_channel() -> None:
    ranking = torch.rand(2, 30, 3)
    count = torch.tensor([[1, 2, 3], [4, 5, 6]])
    torch.testing.assert_close(top_steps(ranking, count).sum(1), count)


def test_padding_is_never_selected_even_where_it_ranks_highest() -> None:
    ranking = torch.rand(1, 10, 1)
    ranking[0, 8:] = 9.0
    mask = torch.arange(10)[None] < 8
    selected = top_steps(ranking, torch.tensor([[3]]), mask)
    assert selected.sum() == 3
    assert not selected[0, 8:].any()


def test_ties_are_all_in() -> None:
    assert top_steps(torch.zeros(1, 6, 1), torch.tensor([[2]])).all()


@pytest.mark.parametrize("radius", [0, 1, 2, 5])
def test_dilation_reaches_exactly_its_radius(radius: int) -> None:
    selected = torch.zeros(1, 21, 1, dtype=torch.bool)
    selected[0, 10] = True
    wide = dilate(selected, radius)[0, :, 0]
    assert wide.nonzero().flatten().tolist() == list(range(10 - radius, 11 + radius))


def test_dilation_stops_at_the_ends_and_at_the_padding() -> None:
    selected = torch.zeros(1, 6, 1, dtype=torch.bool)
    selected[0, 0] = selected[0, 3] = True
    mask = torch.arange(6)[None] < 4
    assert dilate(selected, 2, mask)[0, :, 0].tolist() == [True] * 4 + [False] * 2
    assert dilate(selected[:, :1], 2)[0, :, 0].tolist() == [True]


def test_votes_count_channels() -> None:
    selected = torch.tensor([[[True, True], [False, True], [False, False]]])
    assert vote_count(selected).tolist() == [[2, 1, 0]]


def test_steps_can_be_ranked_alone_in_half_precision_and_with_gradients() -> None:
    ranking = torch.rand(2, 30, 3, dtype=torch.bfloat16, requires_grad=True)
    for count in (4, torch.tensor(4), torch.tensor([4, 4]), torch.tensor([[4], [4]])):
        assert (top_steps(ranking, count).sum(1) >= 4).all()


def test_more_steps_than_are_valid_still_select_no_padding() -> None:
    mask = torch.arange(6)[None] < 4
    assert top_steps(torch.rand(1, 6, 1), 6, mask)[0, :, 0].tolist() == [True] * 4 + [False] * 2
