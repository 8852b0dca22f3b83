import itertools

import numpy as np
import pytest

from crest.lab.evidence.stats import Spread, paired


def test_ten_seeds_that_all_fall_give_the_smallest_p() -> None:
    baseline = {seed: 1.0 + 0.1 * seed for seed in range(10)}
    found = paired({seed: 0.7 * value for seed, value in baseline.items()}, baseline)
    assert found.change == pytest.approx(-0.3)
    assert (found.seeds, found.lower) == (10, 10)
    assert found.p == found.smallest_p == pytest.approx(0.00098, abs=1e-5)
    assert paired(dict.fromkeys(range(5), 1.0), {s: 2.0 + s for s in range(5)}).smallest_p == 0.03125


def test_the_p_value_is_the_share_of_sign_flips_with_as_small_a_rank_sum() -> None:
    differences = np.array([-0.5, 0.2, -0.9, -0.1, 0.4, -0.7])
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    seen = ranks[differences > 0].sum()
    sums = [
        sum(r for r, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=6)
    ]
    expected = np.mean([total <= seen for total in sums])
    found = paired({s: 1 + d for s, d in enumerate(differences.tolist())}, dict.fromkeys(range(6), 1.0))
    assert found.p == pytest.approx(expected)
    assert found.lower == 4


def test_seeds_are_paired_by_their_number_not_by_their_order() -> None:
    baseline = {0: 1.0, 1: 2.0}
    assert paired({1: 1.9, 0: 0.9}, baseline).lower == 2
    with pytest.raises(ValueError, match=r"must have the same seeds, got \[0\] and \[0, 1\]"):
        paired({0: 1.0}, baseline)
    with pytest.raises(ValueError, match="must have the same seeds"):
        paired({}, {})


def test_no_difference_is_no_evidence() -> None:
    same = {0: 1.0, 1: 2.0}
    assert paired(same, same).p == 1.0


def test_a_spread_says_mean_and_deviation() -> None:
    assert str(Spread.of([0.1, 0.3])) == "0.200 ± 0.141"
    assert Spread.of([0.1, 0.3]).text(1) == "0.2 ± 0.1"


def test_one_value_has_no_deviation() -> None:
    assert Spread.of([0.25]) == Spread(mean=0.25, deviation=None)
    assert str(Spread.of([0.25])) == "0.250"
