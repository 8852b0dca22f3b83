from collections.abc import Callable

import pytest

from crest.lab.evidence.baselines import BASELINES_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, verdicts


def recurrent(**errors: float) -> Callable[[RunSpec], Numbers]:
    """OOD errors of last, mean, group_dro, 0.5 unless told; CREST has 0.3."""

    def rule(spec: RunSpec) -> Numbers:
        name = spec.objective if spec.objective == "group_dro" else spec.readout
        return Numbers(ood=0.3 if name == "crest" else errors.get(name, 0.5))

    return rule


@pytest.mark.parametrize("name", ["last", "mean", "group_dro"])
@pytest.mark.parametrize(
    ("error", "verdict"), [(0.456, "holds"), (0.45, "partly"), (0.37, "partly"), (0.35, "does not hold")]
)
def test_each_of_three_baselines_must_be_a_third_above(name: str, error: float, verdict: str) -> None:
    (claim,) = claims(BASELINES_EXPERIMENT, recurrent(**{name: error}))
    assert (claim.verdict, claim.seeds) == (verdict, 5)
    # The two others, at 0.5.
    assert claim.measured.partition(";")[0].count("−40.0 %") == 2


def test_the_p_of_the_baselines_is_the_largest_of_three() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return recurrent(last=0.1 if spec.seed == 0 else 2.0)(spec)

    (claim,) = claims(BASELINES_EXPERIMENT, rule)
    # One of five differences has the wrong sign and the smallest rank; the other baselines give 1/32.
    assert (claim.p, claim.smallest_p) == (2 / 32, 1 / 32)


def test_one_seed_that_is_not_low_enough_is_enough_to_break_it() -> None:
    def rule(spec: RunSpec) -> Numbers:
        high = spec.readout == "crest" and spec.seed == 3
        return Numbers(ood=0.34) if high else recurrent()(spec)

    (claim,) = claims(BASELINES_EXPERIMENT, rule)
    assert claim.verdict == "partly"
    assert "on 4 of 5 seeds" in claim.measured


def test_attention_is_shown_beside_the_baselines_but_decides_nothing() -> None:
    assert verdicts(BASELINES_EXPERIMENT, recurrent(attention=0.1, scored_attention=0.1)) == ["holds"]
