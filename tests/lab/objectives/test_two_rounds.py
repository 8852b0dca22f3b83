import copy

import torch

from crest.lab.model import Model, make_model
from crest.lab.objectives import (
    JustTrainTwice,
    TrainingBatch,
)
from crest.lab.training import Schedule, fit
from toy import toy


def test_those_that_a_first_model_gets_wrong_stand_several_times() -> None:
    data = TrainingBatch(*toy(40).tensors())
    # One in ten has a label that the signals do not tell: no short training gets it right.
    odd = torch.arange(0, 40, 10)
    data.y[odd] += 8.0
    model = make_model("pointwise", "mean", channels=2, seed=1000)
    before = copy.deepcopy(model.state_dict())
    seen = JustTrainTwice(epochs=3, share=0.1, times=4).training_set(model, data)
    assert len(seen.y) == 40 + 3 * 4
    assert torch.equal(seen.x[:40], data.x)
    assert sorted(seen.y[40:].tolist()) == sorted(data.y[odd].tolist() * 3)
    # The model itself is not trained by it.
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_an_epoch_goes_through_what_stands_several_times() -> None:
    class Counting(JustTrainTwice):
        seen = 0

        def loss(self, model: Model, batch: TrainingBatch) -> torch.Tensor:
            self.seen += len(batch.y)
            return super().loss(model, batch)

    objective = Counting(epochs=1, share=0.25, times=3)
    model = make_model("pointwise", "mean", channels=2, seed=1000)
    losses = fit(model, toy(16), schedule=Schedule(epochs=2, batch=8), seed=0, objective=objective)
    assert objective.seen == 2 * (16 + 2 * 4)
    assert len(losses) == 2
