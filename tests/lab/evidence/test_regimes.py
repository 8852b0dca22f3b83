from collections.abc import Callable

import pytest

from crest.lab.evidence.regimes import REGIMES_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from crest.lab.systems import OUTSIDE, REGIMES
from evidence_made import Numbers, claims, shown, verdicts


def outside(change: float, default: float = -0.4) -> Callable[[RunSpec], Numbers]:
    """Relative change of the OOD error in the outside regimes and elsewhere."""

    def rule(spec: RunSpec) -> Numbers:
        by = change if spec.regime in OUTSIDE else default
        return Numbers(ood=0.5 * (1 + by) if spec.readout == "crest" else 0.5)

    return rule


@pytest.mark.parametrize(
    ("change", "verdict"),
    [(0.2, "holds"), (-0.04, "holds"), (-0.06, "partly"), (-0.19, "partly"), (-0.21, "does not hold")],
)
def test_crest_must_not_help_where_the_paper_says_that_it_does_not(change: float, verdict: str) -> None:
    there = claims(REGIMES_EXPERIMENT, outside(change))
    assert [claim.verdict for claim in there] == [verdict] * len(OUTSIDE) == [verdict] * 2
    assert all("−40.0 % in the default regime" in claim.measured for claim in there)


@pytest.mark.parametrize("change", [-0.06, 0.2])
def test_where_crest_does_not_help_by_default_nothing_follows(change: float) -> None:
    assert verdicts(REGIMES_EXPERIMENT, outside(change, default=0.1)) == ["does not hold"] * 2


def test_each_regime_is_measured_by_its_own_runs_and_the_default() -> None:
    def gone(regime: str) -> list[str]:
        return verdicts(
            REGIMES_EXPERIMENT,
            outside(0.0),
            without=lambda spec: (spec.system, spec.regime, spec.readout) == ("gear", regime, "attention"),
        )

    assert gone(OUTSIDE[0]) == ["not measured", "holds"]
    assert gone("weak_cue") == ["holds", "holds"]
    assert gone("default") == ["not measured"] * 2


def test_a_regime_without_all_of_its_runs_is_shown_empty() -> None:
    gone = next(
        spec for spec in REGIMES_EXPERIMENT.runs if spec.regime == "weak_cue" and spec.readout == "attention"
    )
    there = shown(REGIMES_EXPERIMENT, outside(0.0), without=lambda spec: spec.id == gone.id)
    rows = {row[:2]: row[2:] for row in there.tables[0].rows}
    assert len(rows) == len(REGIMES_EXPERIMENT.runs) // 3
    assert [place for place, row in rows.items() if set(row) == {"-"}] == [("SG-Drive", "weak_cue")]


def test_the_strength_of_the_cue_is_crossed_with_its_noise() -> None:
    """Each cell stands for one setting: the change is told apart by strength and noise."""
    percents = {"weak_cue": 10, "default": 20, "perfect_cue": 30}

    def rule(spec: RunSpec) -> Numbers:
        noise = spec.system_options.get(
            "cue_noise", REGIMES[spec.system].get(spec.regime, {}).get("cue_noise")
        )
        names = {
            REGIMES[spec.system][name]["cue_noise"]: k for k, name in ((1, "clear_cue"), (3, "noisy_cue"))
        }
        change = percents.get(spec.regime, 20) + names.get(noise, 2)
        return Numbers(ood=(1 - change / 100) if spec.readout == "crest" else 1.0)

    table = next(table for table in shown(REGIMES_EXPERIMENT, rule).tables if table.name == "cue")
    assert [row[2:] for row in table.rows] == [
        tuple(f"−{strength + noise} %" for noise in (1, 2, 3)) for strength in (10, 20, 30)
    ] * 2
