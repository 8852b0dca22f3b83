"""Statistics that decide the verdicts beside the figures, by hand: baselines, theory, bearings, limitations."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from crest.lab.evidence.baselines import BASELINES
from crest.lab.evidence.compare import percent
from crest.lab.evidence.convergence import CONVERGENCE
from crest.lab.evidence.cwru import CWRU, LEVEL
from crest.lab.evidence.deletion import DELETION, harm
from crest.lab.evidence.names import named
from crest.lab.evidence.readouts import READOUTS
from crest.lab.evidence.regimes import REGIMES
from crest.lab.evidence.splitting import SPLITTING
from crest.lab.evidence.theory import THEORY
from crest.lab.evidence.theory_studies import DILUTION_STUDY, LAW, LAW_STUDY
from crest.lab.runs.spec import RunSpec
from crest.lab.training import SCHEDULES
from crest.systems import OUTSIDE
from crest.systems import REGIMES as SIMULATED
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
    assert (claim.verdict, claim.seeds) == (verdict, 3)
    # The two others, at 0.5.
    assert claim.measured.partition(";")[0].count("−40.0 %") == 2


def test_the_p_of_the_baselines_is_the_largest_of_three() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return recurrent(last=0.1 if spec.seed == 0 else 2.0)(spec)

    (claim,) = claims(BASELINES, rule)
    # One of three differences has the wrong sign and the smallest rank; the other baselines give 1/8.
    assert (claim.p, claim.smallest_p) == (2 / 8, 1 / 8)


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


@pytest.mark.parametrize(("weights", "credit"), [(0.2, 0.001), (0.001, 0.2)])
@pytest.mark.parametrize(
    ("ours", "verdict"), [(1.01, "holds"), (0.99, "partly"), (0.21, "partly"), (0.19, "does not hold")]
)
def test_the_selected_steps_are_compared_with_those_whose_loss_is_worst_for_attention(
    ours: float, verdict: str, weights: float, credit: float
) -> None:
    """Of its weights and its credit; neither CREST's credit nor the weaker attention counts."""
    rule = duel(
        crest=Numbers(rated=ours, credit=50.0),
        scored=Numbers(credit=credit, rated=weights),
        dot=Numbers(id=0.12, credit=50.0, rated=50.0),
    )
    assert verdicts(DELETION, rule)[::2] == [verdict] * 2


def test_random_steps_must_hurt_less_than_selected_ones() -> None:
    rule = duel(crest=Numbers(rated=1.0, random=1.1), scored=Numbers(credit=0.1, rated=0.1))
    assert verdicts(DELETION, rule)[::2] == ["does not hold"] * 2


def test_steps_whose_loss_helps_attention_are_no_division_by_zero() -> None:
    for growth in (0.0, -0.01):
        assert verdicts(DELETION, duel(scored=Numbers(credit=growth, rated=growth)))[::2] == ["holds"] * 2


@pytest.mark.parametrize(
    ("spared", "verdict"), [(10, "holds"), (9, "partly"), (6, "partly"), (5, "does not hold")]
)
def test_events_are_almost_free_where_attentions_error_grows_by_less_than_a_quarter(
    spared: int, verdict: str
) -> None:
    def rule(spec: RunSpec) -> Numbers:
        growth = 0.024 if spec.seed < spared else 0.026
        return duel(scored=Numbers(events=growth), dot=Numbers(id=0.12, events=5.0))(spec)

    there = claims(DELETION, rule)
    assert [claim.verdict for claim in there[1::2]] == [verdict] * 2
    assert f"on {spared} of 10 seeds" in there[1].measured


# -- theory


def dilution(**changes: list[float]) -> dict[str, list[float]]:
    exact = {
        "epsilon": [0.001, 0.002, 0.004],
        "risk_id": [0.2, 0.2, 0.2],
        "simulated_id": [0.2, 0.2, 0.2],
        "risk_ood": [0.9, 0.9, 0.9],
        "simulated_ood": [0.9, 0.9, 0.9],
        "share": [0.0005, 0.002, 0.008],
        "simulated_share": [0.0005, 0.002, 0.008],
        "order": [2.0, 2.0, 2.0],
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
    return exact | changes


def theory(first: dict[str, Any] | None = None, second: dict[str, Any] | None = None) -> dict[str, Any]:
    return {DILUTION_STUDY.name: first or dilution(), LAW_STUDY.name: second or law()}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "holds"),
        ({"simulated_id": [0.2, 0.219, 0.2]}, "holds"),
        ({"simulated_id": [0.2, 0.221, 0.2]}, "does not hold"),
        ({"simulated_ood": [0.879, 0.9, 0.9]}, "does not hold"),
        ({"simulated_share": [0.0005, 0.023, 0.008]}, "does not hold"),
        ({"simulated_share": [0.0005, 0.002, 0.0075]}, "holds"),
        ({"simulated_share": [0.0005, 0.002, 0.006]}, "partly"),
        ({"simulated_share": [-0.0005, 0.002, 0.008]}, "partly"),
    ],
    ids=["exact", "near", "ID off", "OOD off", "share off", "order 1.95", "order 1.79", "no order"],
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
    ("seeds", "sensitivity", "verdict"),
    [(10, 1.0, "holds"), (9, 1.0, "holds"), (8, 1.0, "does not hold"), (10, 0.019, "does not hold")],
)
def test_the_gradient_must_be_on_the_events_more_than_credit_on_nine_of_ten_seeds(
    seeds: int, sensitivity: float, verdict: str
) -> None:
    """Of the stronger attention, whose credit is 0.25; CREST's and the other's play no part."""

    def rule(spec: RunSpec) -> Numbers:
        gradient = 0.26 if spec.seed < seeds else 0.25
        none = Numbers(id=0.12, gradient=0.0)
        return duel(scored=Numbers(gradient=gradient), dot=none, crest=none)(spec)

    study = dilution(sensitivity=[sensitivity] * 3)
    claim = claims(THEORY, rule, studies=theory(study))[2]
    assert (claim.verdict, claim.seeds) == (verdict, 10)
    assert "ε = 0.002" in claim.measured
    assert claim.measured.count(f"on {seeds} of 10 seeds") == 2


def test_one_system_of_two_is_part_of_the_claim() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return Numbers(gradient=0.1 if spec.system == "impact" else 0.9)

    assert verdicts(THEORY, rule, studies=theory())[2] == "partly"


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
    assert all("−40.0 % in the default regime" in claim.measured for claim in there)


@pytest.mark.parametrize("change", [-0.06, 0.2])
def test_where_crest_does_not_help_by_default_nothing_follows(change: float) -> None:
    assert verdicts(REGIMES, outside(change, default=0.1)) == ["does not hold"] * 2


def test_each_regime_is_measured_by_its_own_runs_and_the_default() -> None:
    def gone(regime: str) -> list[str]:
        return verdicts(
            REGIMES,
            outside(0.0),
            without=lambda spec: (spec.system, spec.regime, spec.readout) == ("gear", regime, "attention"),
        )

    assert gone(OUTSIDE[0]) == ["not measured", "holds"]
    assert gone("weak_cue") == ["holds", "holds"]
    assert gone("default") == ["not measured"] * 2


def test_a_regime_without_all_of_its_runs_is_shown_empty() -> None:
    gone = next(spec for spec in REGIMES.runs if spec.regime == "weak_cue" and spec.readout == "attention")
    there = shown(REGIMES, outside(0.0), without=lambda spec: spec.id == gone.id)
    rows = {row[:2]: row[2:] for row in there.tables[0].rows}
    assert len(rows) == len(REGIMES.runs) // 3
    assert [place for place, row in rows.items() if set(row) == {"-"}] == [("SG-Drive", "weak_cue")]


def test_the_strength_of_the_cue_is_crossed_with_its_noise() -> None:
    """Each cell stands for one setting: the change is told apart by strength and noise."""
    percents = {"weak_cue": 10, "default": 20, "perfect_cue": 30}

    def rule(spec: RunSpec) -> Numbers:
        noise = spec.system_options.get(
            "cue_noise", SIMULATED[spec.system].get(spec.regime, {}).get("cue_noise")
        )
        names = {
            SIMULATED[spec.system][name]["cue_noise"]: k for k, name in ((1, "clear_cue"), (3, "noisy_cue"))
        }
        change = percents.get(spec.regime, 20) + names.get(noise, 2)
        return Numbers(ood=(1 - change / 100) if spec.readout == "crest" else 1.0)

    table = next(table for table in shown(REGIMES, rule).tables if table.name == "cue")
    assert [row[2:] for row in table.rows] == [
        tuple(f"−{strength + noise} %" for noise in (1, 2, 3)) for strength in (10, 20, 30)
    ] * 2


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
        ([0.049] * 8, "holds"),
        ([0.3, 0.051], "partly"),
        ([0.051] * 4 + [0.03] * 4, "does not hold"),
        ([-0.1] * 8, "holds"),
    ],
    ids=["hardly falls", "two runs fall", "most runs fall", "rises"],
)
def test_the_id_error_must_hardly_fall_in_the_last_tenth(falls: list[float], verdict: str) -> None:
    (claim,) = claims(CONVERGENCE, ending(*falls))
    assert claim.verdict == verdict
    assert f"at most {max(falls):.1%}" in claim.measured


@pytest.mark.parametrize(
    ("error", "verdict"), [(0.091, "holds"), (0.089, "partly"), (0.076, "partly"), (0.074, "does not hold")]
)
def test_twice_the_epochs_must_hardly_lower_the_id_error_of_any(error: float, verdict: str) -> None:
    def rule(spec: RunSpec) -> Numbers:
        long = spec.training.epochs == 2 * SCHEDULES["pointwise"].epochs
        return Numbers(id=error if long and (spec.system, spec.readout) == ("impact", "crest") else 0.1)

    (claim,) = claims(CONVERGENCE, lambda spec: dataclasses.replace(rule(spec), course=ending()(spec).course))
    assert claim.verdict == verdict
    assert f"change it by {percent(error / 0.1 - 1)} to +0 %" in claim.measured


def test_every_run_shows_its_course() -> None:
    there = shown(CONVERGENCE, ending(0.049))
    assert column(there.tables[0], "fall") == ["4.9%"] + ["0.0%"] * 13
    assert column(there.tables[0], "epochs") == ["60"] * 8 + ["120"] * 6
    # ID and OOD error of the eight runs of the usual length.
    assert sum(len(panel.series) for panel in there.charts[0].panels) == 16
