import torch

from crest.readouts.means import masked_means


def test_means_by_hand() -> None:
    features = torch.tensor([[[1.0, 10.0], [2.0, 20.0], [6.0, 60.0], [99.0, 99.0]]])
    selected = torch.tensor([[[True, False], [False, False], [True, True], [True, True]]])
    mask = torch.tensor([[True, True, True, False]])
    means = masked_means(features, selected, mask)
    torch.testing.assert_close(means.selected, torch.tensor([[3.5, 60.0]]))
    torch.testing.assert_close(means.rest, torch.tensor([[2.0, 15.0]]))
    torch.testing.assert_close(means.everything, torch.tensor([[3.0, 30.0]]))


def test_where_everything_is_selected_the_rest_is_the_global_mean() -> None:
    features = torch.randn(1, 5, 2)
    means = masked_means(features, torch.ones(1, 5, 2, dtype=torch.bool))
    torch.testing.assert_close(means.rest, means.everything)
    torch.testing.assert_close(means.selected, means.everything)


def test_means_of_half_precision_are_added_up_in_more() -> None:
    ones = torch.ones(1, 300, 1, dtype=torch.bfloat16)
    assert float(masked_means(ones, ones > 0).selected) == 1
