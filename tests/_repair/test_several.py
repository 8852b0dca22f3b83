"""Labels and one-hot classes are told apart once, for all data of a repair."""

from typing import Any

import pytest
import torch
from torch import Tensor

import crest
from crest._repair.several import several_labels
from crest.strangers.batch_forms import BatchForm
from knocks_made import network

SMALL: dict[str, Any] = {
    "exchange": crest.ExchangeSettings(trajectories=12, block=4, bootstrap=20),
    "remedies": ["re-anchored"],
}


def data(count: int, doubles: int) -> tuple[Tensor, Tensor]:
    """Two labels in turn, each a knock of its own; the first few trajectories have both."""
    y = torch.eye(2)[torch.arange(count) % 2]
    y[:doubles] = 1
    x = 0.1 * torch.randn(count, 1, 100, generator=torch.Generator().manual_seed(1000))
    x[:, 0, 50:54] += 2 * y[:, :1]
    x[:, 0, 20:24] -= 2 * y[:, 1:]
    return x, y


def two() -> torch.nn.Module:
    model = network(2)
    # Logits, as training leaves them: not all between 0 and 1.
    model[-1].bias.data -= 2
    return model


@pytest.mark.parametrize(("train", "held_out", "found"), [(0, 0, False), (0, 3, True), (3, 3, True)])
def test_any_row_tells(train: int, held_out: int, found: bool) -> None:
    form = BatchForm()
    judged = form.joined([data(20, held_out)], "validation", channels_first=True)
    assert several_labels([data(20, train)], judged, form, seed=0) is found


def test_other_targets_are_neither() -> None:
    x, y = data(20, 0)
    form = BatchForm()
    for other in (y[:, 0], y[:, :1]):
        judged = form.joined([(x, other)], "validation", channels_first=True)
        assert several_labels([(x, other)], judged, form, seed=0) is None
    column = form.joined([(x, y)], "validation", channels_first=True, output=1)
    assert several_labels([(x, y)], column, form, seed=0) is None


def test_labels_that_look_like_classes_where_it_is_measured_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^validation must hold a row of several labels .* or class numbers"
    ):
        crest.repair(two(), [data(60, 20)], validation=[data(30, 0)], **SMALL)


def test_a_field_is_read_as_the_held_out_data_are() -> None:
    labels, hot = data(60, 20), data(30, 0)
    model = two().eval()
    found = crest.repair(model, [labels], validation=[labels], field=[hot], **SMALL)
    with torch.no_grad():
        wrong = (model(hot[0]) > 0) != hot[1].bool()
    assert found.candidates["as it is"].field_error == pytest.approx(float(wrong.float().mean()))
    with pytest.raises(ValueError, match=r"^targets of field must be one-hot, as those of training are"):
        crest.repair(model, [hot], validation=[hot], field=[labels], **SMALL)


def test_conditions_of_one_hot_rows_go_with_labels() -> None:
    """Training rows look one-hot, those that are held out do not: both are labels."""
    train, held = data(60, 0), data(30, 10)
    conditions = [str(row % 2) for row in range(60)], [str(row // 2 % 2) for row in range(30)]
    found = crest.repair(two(), [train], validation=[held], conditions=conditions, **SMALL)
    assert any("several labels" in note for note in found.notes)
