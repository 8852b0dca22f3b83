"""Statistics that decide the verdicts beside the figures, by hand: baselines, theory, bearings, limitations."""

from collections.abc import Callable
from typing import Any

import pytest

from crest.evidence.baselines import BASELINES
from crest.evidence.compare import named
from crest.evidence.convergence import CONVERGENCE
from crest.evidence.cwru import CWRU, LEVEL
from crest.evidence.deletion import DELETION, harm
from crest.evidence.readouts import READOUTS
from crest.evidence.regimes import REGIMES
from crest.evidence.splitting import SPLITTING
from crest.evidence.theory import DILUTION_STUDY, LAW, LAW_STUDY, THEORY
from crest.experiments.spec import RunSpec
from crest.systems.regimes import OUTSIDE
from evidence_made import Numbers, claims, column, duel, found, shown, verdicts

# -- baselines


def recurrent(**errors: float) -> Callable[[RunSpec], Numbers]:
    """OOD errors of last, mean, group_dro, 0.5 unless told; CREST has 0.3."""

    def rule(spec: RunSpec) -> Numbers:
        name = spec.objective if spec.objective == "group_dro" else spec.readout
        return Numbers(ood=0.3 if name == "crest" else errors.get(name, 0.5))

    return rule


@pytest.mark.parametrize("name", ["last", "mean", "group_dro"])
@pytest.mark.parametrize(
    ("error", "verdict"), [(0.456, "holds"), (0.45, "partly"), (0.31, "partly"), (0.29, "does not hold")]
)
def test_each_of_three_baselines_must_be_a_third_above(name: str, error: float, verdict: str) -> None:
    (claim,) = claims(BASELINES, recurrent(**{name: error}))
    assert (claim.verdict, claim.seeds) == (verdict, 5)
    # The two others, at 0.5.
    assert claim.measured.count("−40 %") == 2


def test_the_p_of_the_baselines_is_the_largest_of_three() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return recurrent(last=0.1 if spec.seed == 0 else 2.0)(spec)

    (claim,) = claims(BASELINES, rule)
    # One of five differences has the wrong sign and the smallest rank; the other baselines give 1/32.
    assert (claim.p, claim.smallest_p) == (2 / 32, 1 / 32)


def test_attention_is_shown_beside_the_baselines_but_decides_nothing() -> None:
    assert verdicts(BASELINES, recurrent(attention=0.1, scored_attention=0.1)) == ["holds"]


# -- readouts


def test_every_readout_is_compared_with_crest_on_the_same_seeds() -> None:
    rule = duel(crest=Numbers(ood=0.3))
    table = shown(READOUTS, rule, without=lambda spec: spec.readout == "max" and spec.seed == 2).tables[0]
    rows = {row[1]: row for row in table.rows if row[0] == "SG-Drive"}
    place = table.header.index("CREST against it")
    assert [rows[named(name)][place] for name in ("attention", "scored_attention", "mean")] == [
        "−50 %",
        "−25 %",
        "+0 %",
    ]
    assert (rows["max"][place], rows["CREST"][place]) == ("", "")
    assert rows["max"][-1] == "4/5"


# -- deletion


def test_harm_is_the_growth_at_a_tenth_of_the_steps_and_without_all_events() -> None:
    def rule(spec: RunSpec) -> Numbers:
        growth = 1 + 2 * spec.seed
        return Numbers(credit=growth, events=7 * growth)

    records = found(DELETION, rule).of(system="gear", readout="crest")[:2]
    assert harm(records, "credit") == pytest.approx(2)
    assert harm(records, "credit", at=0.25) == pytest.approx(6)
    assert harm(records, "events") == pytest.approx(14)


@pytest.mark.parametrize(
    ("ours", "verdict"), [(1.01, "holds"), (0.99, "partly"), (0.21, "partly"), (0.19, "does not hold")]
)
def test_the_selected_steps_are_compared_with_those_of_attentions_credit(ours: float, verdict: str) -> None:
    """Neither CREST's credit nor attention's weights count, nor the weaker attention."""
    rule = duel(
        crest=Numbers(rated=ours, credit=50.0),
        scored=Numbers(credit=0.2, rated=0.001),
        dot=Numbers(id=0.12, credit=0.001, rated=50.0),
    )
    there = claims(DELETION, rule)
    assert [claim.verdict for claim in there[::2]] == [verdict] * 2
    assert f"{ours / 0.2:.1f} times" in there[0].measured


def test_steps_whose_loss_helps_attention_are_no_division_by_zero() -> None:
    assert verdicts(DELETION, duel(scored=Numbers(credit=0.0)))[::2] == ["holds"] * 2
    assert verdicts(DELETION, duel(scored=Numbers(credit=-0.01)))[::2] == ["holds"] * 2


@pytest.mark.parametrize(
    ("gone", "verdict"), [(0.09, "holds"), (0.11, "partly"), (0.49, "partly"), (0.51, "does not hold")]
)
def test_events_are_almost_free_for_attention(gone: float, verdict: str) -> None:
    rule = duel(crest=Numbers(events=1.0), scored=Numbers(events=gone), dot=Numbers(id=0.12, events=5.0))
    assert verdicts(DELETION, rule)[1::2] == [verdict] * 2


# -- theory


def dilution(**changes: list[float]) -> dict[str, list[float]]:
    exact = {
        "epsilon": [0.001, 0.002, 0.004],
        "risk_id": [0.2, 0.2, 0.2],
        "simulated_id": [0.2, 0.2, 0.2],
        "risk_ood": [0.9, 0.9, 0.9],
        "simulated_ood": [0.9, 0.9, 0.9],
        "share": [0.001, 0.01, 0.1],
        "simulated_share": [0.001, 0.01, 0.1],
        "order": [2.0, 1.9, 1.5],
        "sensitivity": [1.0, 1.0, 1.0],
        "simulated_sensitivity": [1.0, 1.0, 1.0],
    }
    return exact | changes


def law(**changes: list[float]) -> dict[str, list[float]]:
    length = float(LAW["L"])
    exact = {
        "budget": [length / 2, length, 2 * length],
        "risk": [0.5, 0.3, 0.5],
        "simulated": [0.5, 0.3, 0.5],
    }
    return exact | {"anchored": [1.0, 1.0, 1.0], "T": [400.0]} | changes


def theory(first: dict[str, Any] | None = None, second: dict[str, Any] | None = None) -> dict[str, Any]:
    return {DILUTION_STUDY.name: first or dilution(), LAW_STUDY.name: second or law()}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "holds"),
        ({"simulated_id": [0.2, 0.219, 0.2]}, "holds"),
        ({"simulated_id": [0.2, 0.221, 0.2]}, "does not hold"),
        ({"simulated_ood": [0.879, 0.9, 0.9]}, "does not hold"),
        ({"simulated_share": [0.001, 0.01, 0.13]}, "does not hold"),
        ({"order": [1.97, 2.0, 2.0]}, "partly"),
    ],
    ids=["exact", "near", "ID off", "OOD off", "share off", "another order"],
)
def test_simulation_must_agree_with_the_closed_forms(changes: dict[str, list[float]], verdict: str) -> None:
    assert verdicts(THEORY, studies=theory(dilution(**changes)))[0] == verdict


@pytest.mark.parametrize(
    ("simulated", "verdict"),
    [
        ([0.5, 0.31, 0.49], "holds"),
        ([0.5, 0.33, 0.5], "does not hold"),
        ([0.5, 0.3, 0.29], "does not hold"),
    ],
    ids=["minimum at the event's length", "off", "minimum elsewhere and off"],
)
def test_the_simulated_minimum_must_be_at_the_events_length(simulated: list[float], verdict: str) -> None:
    assert verdicts(THEORY, studies=theory(second=law(simulated=simulated)))[1] == verdict


def test_a_minimum_one_grid_point_away_that_agrees_is_partly() -> None:
    flat = law(risk=[0.31, 0.3, 0.31], simulated=[0.3, 0.31, 0.31])
    assert verdicts(THEORY, studies=theory(second=flat))[1] == "partly"


@pytest.mark.parametrize(
    ("gradient", "sensitivity", "verdict"),
    [(0.32, 1.0, "holds"), (0.3, 1.0, "partly"), (0.32, 0.09, "does not hold")],
)
def test_the_gradient_must_be_on_the_events_by_a_quarter_more_than_credit(
    gradient: float, sensitivity: float, verdict: str
) -> None:
    """Of the stronger attention, whose credit is 0.25; CREST's and the other's play no part."""
    rule = duel(
        scored=Numbers(gradient=gradient), dot=Numbers(id=0.12, gradient=0.0), crest=Numbers(gradient=0.0)
    )
    study = dilution(sensitivity=[sensitivity] * 3)
    claim = claims(THEORY, rule, studies=theory(study))[2]
    assert (claim.verdict, claim.seeds) == (verdict, 10)
    assert "ε = 0.002" in claim.measured


def test_one_system_whose_gradient_misses_the_events_is_enough() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return Numbers(gradient=0.1 if spec.system == "impact" else 0.9)

    assert verdicts(THEORY, rule, studies=theory())[2] == "partly"


def test_attention_without_any_credit_on_events_is_no_division_by_zero() -> None:
    assert verdicts(THEORY, lambda _: Numbers(ecm=0.0), studies=theory())[2] == "holds"


def test_studies_are_judged_without_trained_models_and_the_other_way_round() -> None:
    none = verdicts(THEORY, studies=theory(), without=lambda spec: spec.seed == 0)
    assert none == ["holds", "holds", "not measured"]
    alone = verdicts(THEORY, studies={LAW_STUDY.name: law()})
    assert alone == ["not measured", "holds", "not measured"]


# -- splitting


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(0.4, "holds"), (0.439, "holds"), (0.361, "holds"), (0.3, "partly"), (0.45, "does not hold")],
)
def test_splitting_may_change_the_error_by_a_tenth(error: float, verdict: str) -> None:
    there = claims(SPLITTING, lambda spec: Numbers(ood=error if spec.readout_options else 0.4))
    assert [claim.verdict for claim in there] == [verdict] * 2
    assert [claim.smallest_p for claim in there] == [0.125] * 2


# -- bearings


def level(line: float = 0.8, neighbours: float = 0.1) -> dict[str, Any]:
    readers = {
        "line": {"id": [0.2, 0.2], "ood": [line, line]},
        "15 nearest": {"id": [0.1, 0.1], "ood": [neighbours - 0.01, neighbours + 0.01]},
    }
    return {LEVEL.name: {"default": readers, "bearing": readers}}


@pytest.mark.parametrize(
    ("error", "verdict"), [(0.267, "holds"), (0.27, "partly"), (0.39, "partly"), (0.41, "does not hold")]
)
def test_the_held_load_must_fall_by_a_third(error: float, verdict: str) -> None:
    """The held bearing plays no part."""

    def rule(spec: RunSpec) -> Numbers:
        return duel(crest=Numbers(ood=9.0 if spec.regime == "bearing" else error))(spec)

    first = claims(CWRU, rule, studies=level())[0]
    assert (first.verdict, first.seeds, first.smallest_p) == (verdict, 5, 1 / 32)


@pytest.mark.parametrize(
    ("line", "neighbours", "verdict"),
    [(0.8, 0.31, "holds"), (0.8, 0.29, "does not hold"), (0.29, 0.8, "does not hold")],
)
def test_the_best_reader_of_the_level_alone_decides_about_the_cue(
    line: float, neighbours: float, verdict: str
) -> None:
    claim = claims(CWRU, studies=level(line, neighbours))[1]
    assert (claim.verdict, claim.seeds) == (verdict, 2)


def test_the_level_is_shown_beside_the_readouts_of_each_split() -> None:
    table = shown(CWRU, duel(), studies=level()).tables[0]
    assert column(table, "readout").count("level alone, line") == 2
    assert column(table, "readout").count(f"{named('scored_attention')} *") == 2
    # The held bearing was not run with the mean and the event window.
    assert column(table, "readout").count("mean") == 1


# -- limitations


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
    there = claims(REGIMES, outside(change))
    assert [claim.verdict for claim in there] == [verdict] * len(OUTSIDE) == [verdict] * 2
    assert all("−40 % in the default regime" in claim.measured for claim in there)


def test_half_of_nothing_is_no_limit() -> None:
    """Where CREST does not help by default either, a fall outside is not part of the claim."""
    assert verdicts(REGIMES, outside(-0.06, default=0.1)) == ["does not hold"] * 2


def test_each_regime_is_measured_by_its_own_runs_and_the_default() -> None:
    def gone(regime: str) -> list[str]:
        return verdicts(
            REGIMES,
            outside(0.0),
            without=lambda spec: (spec.system, spec.regime, spec.seed) == ("gear", regime, 1),
        )

    assert gone(OUTSIDE[0]) == ["not measured", "holds"]
    assert gone("weak_cue") == ["holds", "holds"]
    assert gone("default") == ["not measured"] * 2


def test_a_regime_with_unequal_seeds_is_left_out_of_the_table() -> None:
    def without(spec: RunSpec) -> bool:
        return spec.regime == "weak_cue" and spec.readout == "crest" and spec.seed == 1

    there = shown(REGIMES, outside(0.0), without=without)
    assert "weak_cue" not in column(there.tables[0], "regime")
    assert len(there.tables[0].rows) == len(REGIMES.runs) // 4 - 2


# -- convergence


def ending(*falls: float) -> Callable[[RunSpec], Numbers]:
    """The ID error falls by so much in the last tenth: of the first runs, in order; the others stand still."""
    by_run = dict(zip((spec.id for spec in CONVERGENCE.runs), falls, strict=False))

    def rule(spec: RunSpec) -> Numbers:
        last = 0.2 * (1 - by_run.get(spec.id, 0.0))
        # The fall between epochs 56 and 60 alone is small: the look at 52 is the one that counts.
        return Numbers(
            course=((0, 1.0, 1.0, 0.1), (52, 0.2, 0.5, 0.1), (56, last, 0.5, 0.1), (60, last, 0.5, 0.1))
        )

    return rule


@pytest.mark.parametrize(
    ("falls", "verdict"),
    [
        ([0.049] * 14, "holds"),
        ([0.3, 0.051], "partly"),
        ([0.051] * 7 + [0.03] * 7, "does not hold"),
        ([-0.1] * 14, "holds"),
    ],
    ids=["hardly falls", "two runs fall", "most runs fall", "rises"],
)
def test_the_id_error_must_hardly_fall_in_the_last_tenth(falls: list[float], verdict: str) -> None:
    (claim,) = claims(CONVERGENCE, ending(*falls))
    assert claim.verdict == verdict
    assert f"at most {max(falls):.1%}" in claim.measured


def test_every_run_shows_its_course() -> None:
    there = shown(CONVERGENCE, ending(0.049))
    assert column(there.tables[0], "fall") == ["4.9%"] + ["0.0%"] * 13
    assert sum(len(panel.series) for panel in there.charts[0].panels) == 28


def test_found_takes_records_of_the_experiment_alone() -> None:
    assert len(found(CONVERGENCE)) == len(CONVERGENCE.runs) == 14
