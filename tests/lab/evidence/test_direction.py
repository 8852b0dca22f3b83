from collections.abc import Callable

import pytest

from crest.lab.evidence.direction import DIRECTION_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, verdicts


def directed(stable: float, **others: float) -> Callable[[RunSpec], Numbers]:
    """OOD errors: CREST 0.2, with stable steps as told, others 0.4 unless told."""

    def rule(spec: RunSpec) -> Numbers:
        if spec.readout_options:
            return Numbers(ood=stable)
        return Numbers(ood=0.2 if spec.readout == "crest" else others.get(spec.readout, 0.4))

    return rule


@pytest.mark.parametrize(
    ("stable", "place", "verdict"),
    [
        (0.6, 1, "holds"),
        (0.45, 2, "partly"),
        (0.42, 3, "does not hold"),
        (0.21, 10, "does not hold"),
        (0.19, 11, "does not hold"),
    ],
)
def test_stable_steps_must_be_the_worst_of_all(stable: float, place: int, verdict: str) -> None:
    for claim in claims(DIRECTION_EXPERIMENT, directed(stable, mean=0.5, max=0.43)):
        assert f"place {place} from the worst of 11" in claim.measured
        assert (claim.verdict, claim.seeds) == (verdict, 5)
        assert ("worst mean 0.500" in claim.measured) == (place > 1)


def test_stable_steps_that_are_better_on_one_seed_are_not_partly_worse() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return directed(0.1 if spec.seed == 3 else 0.58, mean=0.5)(spec)

    assert verdicts(DIRECTION_EXPERIMENT, rule) == ["does not hold"] * 2
