from typing import Any

import pytest
import torch

import crest
from crest import ExchangeSettings
from crest._repair.alike import moved
from knocks_made import knocks, network, split

TRAIN = split(*knocks(64, tie=0.99, seed=1000))
QUICK: dict[str, Any] = {"exchange": ExchangeSettings(trajectories=8, block=4)}


@pytest.mark.parametrize(("rate", "told"), [(1e-7, True), (0.3, False)])
def test_candidates_that_hardly_differ_are_told(rate: float, told: bool) -> None:
    def fit(model: torch.nn.Module, batches: Any) -> None:
        optimiser = torch.optim.SGD(model.parameters(), rate)
        for x, y in batches:
            optimiser.zero_grad()
            (model(x).squeeze(1) - y).square().mean().backward()
            optimiser.step()

    # A front changes predictions before any training: it does not speak for the training.
    found = crest.repair(network(), TRAIN, fit=fit, remedies=["level jitter", "AC coupling"], **QUICK)
    notes = [note for note in found.notes if note.startswith("Training changed little: ")]
    assert len(notes) == told
    assert not told or "trained longer and level jitter differ from the model as it is" in notes[0]
    assert not told or "more epochs" in notes[0]


@pytest.mark.parametrize(
    ("remedies", "words"),
    [(["AC coupling"], "trained longer differs from"), (["level jitter", "exchange"], "trained longer, level jitter and exchange differ from")],
)  # fmt: skip
def test_those_that_hardly_differ_are_listed(remedies: list[str], words: str) -> None:
    found = crest.repair(network(), TRAIN, fit=lambda model, _: model, remedies=remedies, **QUICK)
    assert any(words in note for note in found.notes)


def test_without_training_nothing_is_told() -> None:
    found = crest.repair(network(), TRAIN, **QUICK)
    assert not any("Training changed" in note for note in found.notes)


def test_a_change_is_measured_in_deviations_of_the_given_predictions() -> None:
    own = torch.tensor([[0.0, 1.0], [2.0, 1.0]])
    assert moved(own, own) == 0
    assert moved(own, own + torch.tensor([1.0, 0.0])) == pytest.approx(1)
    assert moved(torch.ones(3), torch.zeros(3)) == float("inf")
    assert moved(torch.ones(3), torch.ones(3)) == 0
