from collections.abc import Callable

import pytest

from crest.lab.evidence.baselines import BASELINES_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, shown, verdicts


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
    claim, *_ = claims(BASELINES_EXPERIMENT, recurrent(**{name: error}))
    assert (claim.verdict, claim.seeds) == (verdict, 5)
    # The two others, at 0.5.
    assert claim.measured.partition(";")[0].count("−40.0 %") == 2


def test_the_p_of_the_baselines_is_the_largest_of_three() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return recurrent(last=0.1 if spec.seed == 0 else 2.0)(spec)

    claim, *_ = claims(BASELINES_EXPERIMENT, rule)
    # One of five differences has the wrong sign and the smallest rank; the other baselines give 1/32.
    assert (claim.p, claim.smallest_p) == (2 / 32, 1 / 32)


def test_one_seed_that_is_not_low_enough_is_enough_to_break_it() -> None:
    def rule(spec: RunSpec) -> Numbers:
        high = spec.readout == "crest" and spec.seed == 3
        return Numbers(ood=0.34) if high else recurrent()(spec)

    claim, *_ = claims(BASELINES_EXPERIMENT, rule)
    assert claim.verdict == "partly"
    assert "on 4 of 5 seeds" in claim.measured


def test_crest_with_the_budget_of_the_signals_is_judged_by_itself() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return Numbers(ood=0.4) if spec.readout_options else recurrent()(spec)

    plain, signals, *_ = claims(BASELINES_EXPERIMENT, rule)
    assert (plain.verdict, signals.verdict) == ("holds", "partly")
    assert "with the budget of the signals" in signals.text
    missing = claims(BASELINES_EXPERIMENT, rule, without=lambda spec: bool(spec.readout_options))
    assert [claim.verdict for claim in missing[:2]] == ["holds", "not measured"]
    rows = {row[0]: row[2] for row in shown(BASELINES_EXPERIMENT, rule).tables[0].rows}
    assert (rows["CREST"], rows["CREST, budget of the signals"]) == ("0.300 ± 0.000", "0.400 ± 0.000")


def test_attention_is_shown_beside_the_baselines_but_decides_nothing() -> None:
    assert verdicts(BASELINES_EXPERIMENT, recurrent(attention=0.1, scored_attention=0.1))[0] == "holds"


def residual(change: float) -> Callable[[RunSpec], Numbers]:
    """A physics-informed residual changes the OOD error of attention, 1, by so much; CREST has 0.5."""

    def rule(spec: RunSpec) -> Numbers:
        if spec.readout == "crest":
            return Numbers(ood=0.5)
        return Numbers(ood=1.0 + change if spec.objective == "physics" else 1.0)

    return rule


@pytest.mark.parametrize(
    ("change", "verdict"),
    [(0.2, "holds"), (-0.05, "holds"), (-0.2, "partly"), (-0.3, "does not hold"), (-0.5, "does not hold")],
)
def test_a_residual_that_leaves_the_error_as_it_is_does_not_remove_the_failure(
    change: float, verdict: str
) -> None:
    *_, gear, impact = claims(BASELINES_EXPERIMENT, residual(change))
    assert (gear.verdict, gear.seeds) == (impact.verdict, impact.seeds) == (verdict, 3)


def test_nothing_is_said_of_the_residual_where_crest_does_not_help_on_every_seed() -> None:
    def rule(spec: RunSpec) -> Numbers:
        lost = spec.readout == "crest" and spec.seed == 1
        return Numbers(ood=1.1) if lost else residual(0.0)(spec)

    assert [claim.verdict for claim in claims(BASELINES_EXPERIMENT, rule)[-2:]] == ["does not hold"] * 2


def test_the_residual_is_told_each_simulators_own_oscillator() -> None:
    told = {
        spec.system: spec.objective_options
        for spec in BASELINES_EXPERIMENT.runs
        if spec.objective == "physics"
    }
    # A sample of the gear is 1500 / 5120 of a period, one of the impact oscillator 1 / 137.5.
    assert told["gear"] == pytest.approx({"turn": 1.84078, "damping": 0.1}, rel=1e-4)
    assert told["impact"] == pytest.approx({"turn": 0.0713998, "damping": 0.08}, rel=1e-4)


def test_what_is_tried_against_shortcuts_is_compared_with_plain_attention() -> None:
    table = shown(BASELINES_EXPERIMENT, residual(-0.2)).tables[1]
    rows = [row for row in table.rows if row[0] == "Impact"]
    assert [row[table.header.index("against plain")] for row in rows] == [
        "",
        "+0 %",
        "+0 %",
        "+0 %",
        "−20 %",
        "−50 %",
    ]
    assert all(row[-1] == "3" for row in rows)


@pytest.mark.parametrize(("error", "verdict"), [(1.01, "holds"), (0.99, "does not hold")])
def test_all_three_baselines_must_be_worse_than_a_guess(error: float, verdict: str) -> None:
    claim = claims(BASELINES_EXPERIMENT, recurrent(last=1.5, mean=1.5, group_dro=error))[2]
    assert (claim.verdict, claim.seeds) == (verdict, 5)
    assert claim.brief == f"1.50, 1.50, {error:.2f}"


@pytest.mark.parametrize(
    ("error", "cie", "verdict"),
    [(0.46, 0.3, "holds"), (0.44, 0.25, "does not hold"), (0.5, 0.31, "does not hold")],
)
def test_group_dro_repairs_neither_error_nor_credit(error: float, cie: float, verdict: str) -> None:
    def rule(spec: RunSpec) -> Numbers:
        return Numbers(ood=error, cie=cie) if spec.objective == "group_dro" else recurrent()(spec)

    assert claims(BASELINES_EXPERIMENT, rule)[3].verdict == verdict
