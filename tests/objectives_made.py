"""What the tests of objectives share: batches with labels by hand, and a model that says nothing."""

import torch

from crest.lab.model import Model, make_model
from crest.lab.objectives import TrainingBatch
from toy import toy


def batch(y: list[float], proxy: list[float] | None = None) -> TrainingBatch:
    data = TrainingBatch(*toy(len(y)).tensors())
    return data._replace(y=torch.tensor(y), proxy=None if proxy is None else torch.tensor(proxy))


def silent(readout: str = "mean") -> Model:
    """A model whose every answer is 0, so that the error of a trajectory is its label squared."""
    model = make_model("pointwise", readout, channels=2, seed=1000)
    torch.nn.init.zeros_(model.head.weight)
    torch.nn.init.zeros_(model.head.bias)
    return model
