"""Readers without a network, on trajectories that are made up."""

import numpy as np
import pytest

from crest.lab.evidence import field_readers as module
from crest.lab.evidence.expert_features import EXPERT_FEATURES, NUISANCES_ALONE
from crest.lab.evidence.field_readers import FIELD_READERS, field_readers
from crest.lab.systems import Sizes
from crest.recordings.trajectories import Splits, Trajectories


class Made:
    """Falls with a peak; their posture is that of the class in training and ID, and the other in the field."""

    def splits(self, seed: int, sizes: Sizes) -> Splits:
        numbers = np.random.default_rng(seed)

        def part(tie: float) -> Trajectories:
            y = np.tile([0.0, 1.0], 30)
            x = numbers.normal(0, 0.1, (60, 64, 3))
            x[:, :, 1] += np.where(numbers.random(60) < tie, 1 - y, y)[:, None]
            x[:, 32, 0] += 5 * y
            return Trajectories(
                x=x.astype(np.float32),
                y=y,
                sample_rate=50.0,
                channels=("x", "y", "z"),
                classes=("activity", "fall"),
            )

        assert sizes.train == 800
        return Splits(train=part(1.0), id=part(1.0), ood=part(0.0))


def test_means_over_seeds_of_every_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "make_system", lambda _: Made())
    told = field_readers(systems=["sisfall"], seeds=[1000, 1001])
    names = [*EXPERT_FEATURES["sisfall"], *(f"{name} alone" for name in NUISANCES_ALONE)]
    assert [one["reader"] for one in told] == names
    errors = {one["reader"]: (one["id"], one["ood"]) for one in told}
    assert errors["peak alone, forest"] == (0.0, 0.0)
    # A peak has its share in the mean.
    assert errors["offset alone"][0] == 0.0
    assert errors["offset alone"][1] > 0.6


def test_the_study_is_of_the_reported_seeds() -> None:
    assert FIELD_READERS.parameters == {"systems": ["mitbih", "sisfall", "hitsm"], "seeds": [0, 1, 2, 3, 4]}
