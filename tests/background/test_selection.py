import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from crest.background.selection import dilate, selected_count, top_steps, vote_count


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
    ranking = torch.rand(2, steps, 3, generator=torch.Generator().manual_seed(seed))
    wanted = min(wanted, steps)
    selected = top_steps(ranking, torch.full((2, 1), wanted))
    assert (selected.sum(1) == wanted).all()
    inside = ranking.masked_fill(~selected, torch.inf).amin(1)
    outside = ranking.masked_fill(selected, -torch.inf).amax(1)
    assert (inside > outside).all()


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


def test_it_can_be_used_alone_in_half_precision_and_with_gradients() -> None:
    ranking = torch.rand(2, 30, 3, dtype=torch.bfloat16, requires_grad=True)
    for count in (4, torch.tensor(4), torch.tensor([4, 4]), torch.tensor([[4], [4]])):
        assert (top_steps(ranking, count).sum(1) >= 4).all()


def test_more_steps_than_are_valid_still_select_no_padding() -> None:
    mask = torch.arange(6)[None] < 4
    assert top_steps(torch.rand(1, 6, 1), 6, mask)[0, :, 0].tolist() == [True] * 4 + [False] * 2
