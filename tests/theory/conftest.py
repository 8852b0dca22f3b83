"""A finite population with exactly the second moments of the two-channel model."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from crest.theory import TwoChannel, TwoChannelSample


def every_sign_and_event_set(model: TwoChannel, g: float | None = None) -> TwoChannelSample:
    """All signs of y and of every noise, times all event sets: 2^(1 + 2T) * C(T, L) trajectories.

    A linear reader's risk depends on second moments alone, and these are the model's own, so that a fit
    and its risks on this population are the population values, without sampling error.
    """
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=1 + 2 * model.T)))
    sets = [
        np.isin(np.arange(model.T), chosen)
        for chosen in itertools.combinations(range(model.T), model.event_steps)
    ]
    y = np.tile(signs[:, 0], len(sets))
    noise = np.tile(signs[:, 1:].reshape(-1, model.T, 2), (len(sets), 1, 1))
    events = np.repeat(np.array(sets), len(signs), axis=0)
    return TwoChannelSample(model.observe(y, events, noise, g), y, events)


@pytest.fixture(scope="session")
def population() -> Callable[..., TwoChannelSample]:
    return every_sign_and_event_set
