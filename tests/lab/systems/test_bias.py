import numpy as np
import pytest
from scipy.stats import ks_2samp

from crest.lab.systems import GearSystem, Sizes
from crest.lab.systems.bias import biased_labels
from crest.recordings.trajectories import correlation

SMALL = Sizes(train=48, id=16, ood=16)


@pytest.mark.parametrize("correlated", [-0.99, 0.985, 0.5])
def test_only_the_link_between_label_and_cue_is_broken(correlated: float) -> None:
    n = 20_000
    seen = biased_labels(n, np.random.default_rng(0), correlated, broken=False)
    unseen = biased_labels(n, np.random.default_rng(1), correlated, broken=True)
    assert correlation(seen.y, seen.cue) == pytest.approx(correlated, abs=0.01)
    assert abs(correlation(unseen.y, unseen.cue)) < 0.03
    for name in ("y", "cue"):
        a, b = getattr(seen, name), getattr(unseen, name)
        assert ks_2samp(a, b).pvalue > 0.01
        assert (a.mean(), a.std()) == pytest.approx((0, 1), abs=0.02)
    assert np.abs(seen.cue).max() <= 2.5


def test_the_correlation_is_checked() -> None:
    with pytest.raises(ValueError, match=r"cue_correlation must lie in \[-1, 1\], got 1.2"):
        GearSystem(cue_correlation=1.2).splits(1000, SMALL)
