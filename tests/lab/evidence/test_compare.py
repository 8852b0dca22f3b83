import statistics

import pytest

from crest.lab.evidence.compare import (
    contest,
    contest_with,
    error_text,
    lower_error_claim,
    stronger_attention,
)
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.shown import Claim
from crest.lab.evidence.stats import paired
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, duel, found

CLAIM = Claim(text="a", paper="b")


def test_the_stronger_attention_has_the_lower_mean_id_error() -> None:
    rule = duel()
    assert stronger_attention(found(MAIN_EXPERIMENT, rule), system="gear") == "scored_attention"
    # The other way round, whatever the OOD error says.
    rule = duel(dot=Numbers(id=0.09, ood=0.9), scored=Numbers(id=0.1, ood=0.1))
    assert stronger_attention(found(MAIN_EXPERIMENT, rule), system="gear") == "attention"


def test_it_is_the_mean_over_seeds_and_not_the_first_seed_that_decides() -> None:
    def rule(spec: RunSpec) -> Numbers:
        if spec.readout == "attention":
            return Numbers(id=0.01 if spec.seed == 0 else 0.2)
        return Numbers(id=0.1)

    assert stronger_attention(found(MAIN_EXPERIMENT, rule), system="impact") == "scored_attention"


def test_there_is_no_stronger_attention_while_a_run_of_one_form_is_missing() -> None:
    there = found(
        MAIN_EXPERIMENT, duel(), without=lambda spec: spec.readout == "attention" and spec.seed == 3
    )
    assert stronger_attention(there, system="gear") is None
    assert contest(there, system="gear") is None


def test_a_pair_needs_every_run_of_the_three() -> None:
    gone = next(
        spec for spec in MAIN_EXPERIMENT.runs if spec.readout == "attention" and spec.system == "gear"
    )
    there = found(MAIN_EXPERIMENT, duel(), without=lambda spec: spec.id == gone.id)
    # Not even one run of the form that would not be compared with.
    assert contest(there, system="gear") is None
    assert contest(there, system="impact") is not None


def test_errors_are_means_and_deviations_over_seeds() -> None:
    there = found(MAIN_EXPERIMENT, lambda spec: Numbers(ood=0.1 * spec.seed))
    records = there.of(system="gear", readout="crest")
    values = [0.1 * seed for seed in range(10)]
    assert error_text(records) == f"{statistics.fmean(values):.3f} ± {statistics.stdev(values):.3f}"
    assert error_text([]) == "-"


def test_lower_on_average_but_not_on_every_seed_does_not_hold() -> None:
    baseline = dict.fromkeys(range(10), 1.0)
    errors = {seed: 0.5 - 0.01 * seed for seed in range(9)} | {9: 1.001}
    result = paired(errors, baseline)
    # The one seed above has the smallest rank: p is 2/1024.
    assert (result.lower, result.p, result.smallest_p) == (9, 2 * 2.0**-10, 2.0**-10)
    claim = lower_error_claim(CLAIM, -0.29, result, "attention")
    assert (claim.verdict, claim.seeds) == ("does not hold", 10)
    assert "lower on 9 of 10 seeds" in claim.measured


@pytest.mark.parametrize(
    ("error", "verdict"), [(0.70, "holds"), (0.72, "partly"), (0.85, "partly"), (0.86, "does not hold")]
)
def test_half_of_the_claimed_size_on_every_seed_is_partly(error: float, verdict: str) -> None:
    result = paired({0: error + 0.01, 1: error - 0.01}, {0: 1.0, 1: 1.0})
    assert result.lower == 2
    assert lower_error_claim(CLAIM, -0.29, result, "attention").verdict == verdict


def test_more_credit_is_counted_seed_by_seed() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return Numbers(cie=0.1 * spec.seed if spec.readout == "crest" else 0.45, ecm=0.25)

    pair = contest_with("attention", found(MAIN_EXPERIMENT, rule), system="gear")
    assert pair is not None
    assert (pair.form, pair.more_credit("cie"), pair.more_credit("ecm")) == ("attention", 5, 0)
