"""One number for how far predictions are from targets."""

import pytest
import torch

from crest.probes.errors import rmse, rmse_or_error_rate


def test_numbers_are_compared_by_their_root_mean_square() -> None:
    predictions, targets = torch.tensor([[1.0], [5.0]]), torch.tensor([1.0, 1.0])
    assert rmse_or_error_rate(predictions, targets).item() == pytest.approx(8**0.5)
    assert rmse(predictions[:, 0], targets).item() == pytest.approx(8**0.5)


def test_whole_numbers_and_half_precision_are_compared_in_floats() -> None:
    assert rmse_or_error_rate(torch.tensor([3]), torch.tensor([1])).item() == 2.0
    large = torch.tensor([60000.0], dtype=torch.float16)
    assert rmse_or_error_rate(large, -large).item() == 120000.0


def test_logits_by_the_share_of_wrong_classes() -> None:
    logits = torch.tensor([[0.0, 1.0], [2.0, 1.0], [0.0, 3.0]])
    assert rmse_or_error_rate(logits, torch.tensor([1, 1, 1])).item() == pytest.approx(1 / 3)


@pytest.mark.unchecked
def test_predictions_of_another_length() -> None:
    with pytest.raises(ValueError, match="predictions must be"):
        rmse_or_error_rate(torch.zeros(3), torch.zeros(2))
