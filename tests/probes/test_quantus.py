"""Second oracle: Quantus' three localisation metrics are CiE@1, ECM and Prec@|E| on a given score.

They differ from ours where scores tie: the Pointing Game counts a hit if any maximal step is an event, and
the rank accuracy follows argsort. So the comparison uses scores without ties.
"""

from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from crest.probes import (
    credit,
    credit_in_event_at_1,
    event_credit_mass,
    positive_credit,
    precision_at_event_rate,
)

quantus = pytest.importorskip("quantus")


def oracle(name: str, scores: Tensor, events: Tensor) -> Tensor:
    # normalise=False: dividing by the maximum changes no ratio, but its code path takes other dtypes.
    metric = getattr(quantus, name)(abs=False, normalise=False, disable_warnings=True)
    channel_first = partial(np.expand_dims, axis=1)
    values = metric(
        model=None,
        x_batch=np.zeros((len(scores), 1, scores.shape[1])),
        y_batch=np.zeros(len(scores), dtype=int),
        a_batch=channel_first(scores.numpy()),
        s_batch=channel_first(events.numpy()),
    )
    return torch.tensor(np.asarray(values, dtype=np.float64))


@pytest.fixture(params=range(5))
def problem(request: pytest.FixtureRequest) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(request.param)
    scores = 2 * torch.rand(40, 23, generator=generator, dtype=torch.float64) - 1
    events = torch.rand(40, 23, generator=generator) < 0.1 + 0.15 * request.param
    events[:, 4] = True
    return scores, events


def test_cie_is_the_pointing_game(problem: tuple[Tensor, Tensor]) -> None:
    torch.testing.assert_close(credit_in_event_at_1(*problem), oracle("PointingGame", *problem))


def test_ecm_is_the_relevance_mass_accuracy_of_positive_credit(problem: tuple[Tensor, Tensor]) -> None:
    scores, events = problem
    expected = oracle("RelevanceMassAccuracy", positive_credit(scores), events)
    torch.testing.assert_close(event_credit_mass(scores, events), expected)


def test_precision_is_the_relevance_rank_accuracy(problem: tuple[Tensor, Tensor]) -> None:
    torch.testing.assert_close(precision_at_event_rate(*problem), oracle("RelevanceRankAccuracy", *problem))


def test_the_whole_probe(problem: tuple[Tensor, Tensor]) -> None:
    features, pooled = torch.randn(40, 23, 6).double(), torch.randn(40, 6).double()
    result = credit(features, pooled, problem[1])
    torch.testing.assert_close(result.cie, oracle("PointingGame", result.scores, problem[1]))
    torch.testing.assert_close(result.ecm, oracle("RelevanceMassAccuracy", result.positive, problem[1]))
    torch.testing.assert_close(result.precision, oracle("RelevanceRankAccuracy", result.scores, problem[1]))
