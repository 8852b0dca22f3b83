from collections.abc import Callable

import pytest

from crest.lab.evidence.dynamics import DYNAMICS_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, verdicts


def course(*credit: float) -> Callable[[RunSpec], Numbers]:
    """CiE@1 at epochs 0, 20, 40 and 60; chance is 0.125."""
    looks = tuple((20 * place, 0.1, 0.4, cie) for place, cie in enumerate(credit))
    return lambda _: Numbers(course=looks)


@pytest.mark.parametrize(
    ("credit", "verdict"),
    [
        ((0.1, 0.5, 0.3, 0.1), "holds"),
        ((0.1, 0.5, 0.4, 0.31), "partly"),
        ((0.1, 0.5, 0.5, 0.32), "does not hold"),
        ((0.1, 0.3, 0.5, 0.1), "does not hold"),
        ((0.05, 0.12, 0.1, 0.05), "does not hold"),
    ],
    ids=[
        "early peak, ends below chance",
        "falls half of the way",
        "falls less",
        "late peak",
        "never above chance",
    ],
)
def test_credit_must_peak_early_and_end_below_chance(credit: tuple[float, ...], verdict: str) -> None:
    assert verdicts(DYNAMICS_EXPERIMENT, course(*credit)) == [verdict] * 2


def test_the_course_is_the_mean_over_seeds_of_each_form() -> None:
    def rule(spec: RunSpec) -> Numbers:
        if spec.readout == "attention":
            return Numbers(id=0.2, course=((0, 1.0, 1.0, 0.0), (60, 0.2, 0.2, 1.0)))
        return Numbers(course=((0, 1.0, 1.0, 0.1 * spec.seed), (60, 0.1, 0.3, 0.0)))

    dot, claim = claims(DYNAMICS_EXPERIMENT, rule)
    assert (dot.verdict, "attention (dot)" in dot.text) == ("does not hold", True)
    assert claim.measured == "peak 0.20 at epoch 0 of 60, end 0.00, chance 0.12; OOD 3.0 times ID at the end"
    assert (claim.verdict, claim.seeds) == ("holds", 5)


def test_a_trial_of_one_seed_says_one_seed() -> None:
    assert [claim.seeds for claim in claims(DYNAMICS_EXPERIMENT.quick())] == [1, 1]
