"""A model and what it is asked about, in one layout and precision."""

import pytest
import torch
from torch import nn

from crest.strangers.asked import asked_about
from crest.strangers.given import Given

X = torch.randn(6, 30, 2)


def test_inputs_come_in_the_models_precision_and_signals_channels_last() -> None:
    model = (
        nn.Sequential(nn.Conv1d(2, 3, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(3, 1))
        .double()
        .eval()
    )
    with torch.no_grad():
        asked = asked_about(model, Given(X.mT, None, None), channels_first=True, answer=None, batch_size=4)
        assert asked.inputs.dtype == torch.float64
        assert torch.equal(asked.signals, X.double())
        assert torch.equal(asked.function(asked.signals), asked.ask(asked.inputs))
        assert torch.allclose(asked.answers, model(X.mT.double()))
    assert asked.valid.all()


def test_a_mask_that_leaves_nothing_is_named() -> None:
    mask = torch.ones(6, 30, dtype=torch.bool)
    mask[2] = False
    with pytest.raises(
        ValueError, match=r"^mask must leave a valid step in each trajectory, got none in trajectory 2"
    ):
        asked_about(
            lambda x, m: x.mean((1, 2)), Given(X, None, mask), channels_first=False, answer=None, batch_size=4
        )


def test_answers_with_a_time_axis_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^model must return .* got \(6, 30, 2\) .* pass answer="):
        asked_about(lambda x: x, Given(X, None, None), channels_first=False, answer=None, batch_size=4)


@pytest.mark.parametrize("wrong", [-1, 2])
def test_targets_of_logits_are_their_classes(wrong: int) -> None:
    def asked(answer, targets: torch.Tensor) -> None:
        asked_about(answer, Given(X, targets, None), channels_first=False, answer=None, batch_size=4)

    targets = torch.tensor([0, 1, 0, 1, 0, 1])
    asked(lambda x: x[:, 0], targets)
    targets[3] = wrong
    # One number is no logits.
    asked(lambda x: x[:, 0, :1], targets)
    with pytest.raises(ValueError, match=r"^targets must be classes from 0 to 1, .* got (-1 to 1|0 to 2)$"):
        asked(lambda x: x[:, 0], targets)
