from collections.abc import Callable

import pytest

from crest.lab.evidence.longer import LONGER_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from crest.lab.training import SCHEDULES
from evidence_made import Numbers, claims, column, shown

# Every call of it fills a whole entry, whose types other tests check.
pytestmark = pytest.mark.unchecked


def with_crest(ood: float) -> Callable[[RunSpec], Numbers]:
    """CREST has this OOD error, attention 0.3, the others 0.5."""

    def rule(spec: RunSpec) -> Numbers:
        attention = spec.readout in ("attention", "scored_attention")
        return Numbers(ood=ood if spec.readout == "crest" else 0.3 if attention else 0.5)

    return rule


@pytest.mark.parametrize(
    ("ood", "verdicts"),
    [
        (0.32, ["holds", "holds", "holds"]),
        (0.329, ["holds", "holds", "holds"]),
        (0.331, ["partly", "does not hold", "does not hold"]),
        (0.45, ["does not hold", "does not hold", "does not hold"]),
    ],
)
def test_crest_is_judged_against_three_baselines_and_against_attention(
    ood: float, verdicts: list[str]
) -> None:
    found = claims(LONGER_EXPERIMENT, with_crest(ood))
    assert [claim.verdict for claim in found] == verdicts
    assert {claim.seeds for claim in found} == {3}


def test_one_system_does_not_answer_for_the_other() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return with_crest(0.2 if spec.system == "gear" else 0.4)(spec)

    _, gear, impact = claims(LONGER_EXPERIMENT, rule)
    assert (gear.verdict, impact.verdict) == ("holds", "does not hold")
    assert ("SG-Drive" in gear.text, "Impact" in impact.text) == (True, True)


def test_every_readout_has_four_times_the_epochs_of_a_gru() -> None:
    assert {spec.training.epochs for spec in LONGER_EXPERIMENT.runs} == {4 * SCHEDULES["gru"].epochs}
    (table,) = shown(LONGER_EXPERIMENT, with_crest(0.3)).tables
    assert column(table, "system").count("SG-Drive") == 6
    assert column(table, "system").count("Impact") == 3


def test_nothing_is_claimed_before_every_run_is_there() -> None:
    there = shown(
        LONGER_EXPERIMENT, with_crest(0.3), without=lambda spec: spec.readout == "crest" and spec.seed == 2
    )
    assert {claim.verdict for claim in there.claims} == {"not measured"}
