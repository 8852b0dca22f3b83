"""One number for how far predictions are from targets."""

from collections.abc import Callable

import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score
from torch import Tensor

from crest.probes.errors import (
    as_numbers_note,
    constant_prediction,
    error_rate,
    macro_f1,
    rmse,
    rmse_or_error_rate,
)


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


@pytest.mark.parametrize("classes", [2, 7])
def test_classes_are_scored_as_by_scikit_learn(classes: int) -> None:
    """Of seven classes and twelve trajectories, some do not occur and some only as answers."""
    for seed in range(5):
        numbers = torch.Generator().manual_seed(1000 + seed)
        logits = torch.randn(12, classes, generator=numbers, dtype=torch.float64)
        targets = torch.randint(0, classes, (12,), generator=numbers)
        found = logits.argmax(1)
        assert error_rate(logits, targets).item() == pytest.approx(1 - accuracy_score(targets, found))
        wanted = f1_score(targets, found, average="macro", zero_division=0)
        assert macro_f1(logits, targets).item() == pytest.approx(wanted)
        # As deletion hands them over, and as a column.
        assert macro_f1(logits, targets.double()[:, None]) == macro_f1(logits, targets)
        assert rmse_or_error_rate(logits, targets[:, None]) == error_rate(logits, targets)


@pytest.mark.parametrize("error", [error_rate, macro_f1])
@pytest.mark.parametrize(
    ("predictions", "targets", "message"),
    [
        (torch.zeros(2), torch.zeros(2), r"predictions must be logits of shape \(B, K\).*got \(2,\)"),
        (torch.zeros(2, 1), torch.zeros(2), r"predictions must be logits .* got \(2, 1\)"),
        (torch.zeros(2, 3), torch.zeros(3), r"targets must be .* B = 2, got \(3,\)"),
        (
            torch.zeros(2, 3),
            torch.tensor([0, 3]),
            "numbers of classes from 0 to 2, .* got torch.int64 from 0 to 3",
        ),
        (torch.zeros(2, 3), torch.tensor([0.5, 1.0]), "numbers of classes from 0 to 2, .* from 0.5 to 1.0"),
        (torch.zeros(0, 3), torch.zeros(0), "numbers of classes from 0 to 2, one or more, got none"),
        (torch.zeros(2, 3), torch.tensor([True, False]), "numbers of classes .* got torch.bool"),
    ],
)
def test_what_is_no_class_is_refused(
    error: Callable[[Tensor, Tensor], Tensor], predictions: Tensor, targets: Tensor, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        error(predictions, targets)


@pytest.mark.parametrize(
    "targets", [torch.tensor([0, 2, 1]), torch.tensor([0.0, 1.0, 1.0])], ids=["int", "float"]
)
def test_targets_that_look_like_classes_are_told_where_a_model_gives_one_number(targets: Tensor) -> None:
    (note,) = as_numbers_note(rmse_or_error_rate, torch.randn(3, 1), targets)
    assert "the error is that of a regression" in note
    # The two logits that it makes of one answer the same.
    z = torch.tensor([[2.0], [-1.0]])
    two = eval(note[note.index("torch.cat") :], {"torch": torch, "z": z})
    assert rmse_or_error_rate(two, torch.tensor([1, 1])) == 0.5
    assert not as_numbers_note(rmse, torch.randn(3, 1), targets)
    assert not as_numbers_note(rmse_or_error_rate, torch.randn(3, 3), targets)


def test_targets_that_are_numbers_or_missing_need_no_note() -> None:
    counts = (torch.tensor([120, 340]), torch.tensor([-1, 1]), torch.zeros(2).long(), torch.zeros(2))
    empty = (torch.zeros(0), torch.zeros(0).long())
    for targets in (torch.tensor([0.5, 1.0]), torch.tensor([3.0, 7.0]), None, *counts, *empty):
        assert not as_numbers_note(rmse_or_error_rate, torch.randn(2), targets)


@pytest.mark.parametrize(
    ("size", "dtype"), [(1e30, torch.float32), (1e38, torch.float32), (1e300, torch.float64)]
)
def test_an_error_that_fits_is_finite_though_its_square_does_not_fit(size: float, dtype: torch.dtype) -> None:
    found = rmse_or_error_rate(torch.zeros(4, dtype=dtype), torch.full((4,), size, dtype=dtype))
    torch.testing.assert_close(found, torch.tensor(size, dtype=dtype))
    assert rmse(torch.zeros(2), torch.tensor([0.0, torch.inf])).isinf()
    assert rmse(torch.zeros(2), torch.tensor([0.0, torch.nan])).isnan()


@pytest.mark.parametrize("weights", [None, torch.tensor([1.0, 1.0, 1.0, 5.0])])
def test_a_constant_is_the_mean_or_the_most_frequent_class(weights: Tensor | None) -> None:
    targets = torch.tensor([2, 2, 0, 1])
    numbers = constant_prediction(targets, torch.zeros(4, 1), weights)
    assert numbers.tolist() == pytest.approx([1.25 if weights is None else 9 / 8] * 4)
    logits = constant_prediction(targets, torch.zeros(4, 3), weights)
    assert logits.argmax(1).tolist() == [2 if weights is None else 1] * 4
    with pytest.raises(ValueError, match=r"^targets must be classes from 0 to 1, .* got 0 to 2"):
        constant_prediction(targets, torch.zeros(4, 2), weights)
