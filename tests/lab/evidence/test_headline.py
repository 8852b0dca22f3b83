"""Statistics that decide the verdicts of the headline, by hand: which attention, Table 1, Figures 1 and 4."""

import statistics
from collections.abc import Callable

import pytest

from crest.lab.evidence.compare import contest, error, lower_error_claim, stronger_attention
from crest.lab.evidence.cross import CROSS, PLACES
from crest.lab.evidence.main import MAIN
from crest.lab.evidence.names import named
from crest.lab.evidence.shown import Chart
from crest.lab.evidence.stats import paired
from crest.lab.evidence.teaser import TEASER
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, column, duel, found, shown, verdicts

DOT, SCORED = named("attention"), named("scored_attention")


# -- which attention, and the pair


def test_the_stronger_attention_has_the_lower_mean_id_error() -> None:
    rule = duel()
    assert stronger_attention(found(MAIN, rule), system="gear") == "scored_attention"
    # The other way round, whatever the OOD error says.
    rule = duel(dot=Numbers(id=0.09, ood=0.9), scored=Numbers(id=0.1, ood=0.1))
    assert stronger_attention(found(MAIN, rule), system="gear") == "attention"


def test_it_is_the_mean_over_seeds_and_not_the_first_seed_that_decides() -> None:
    def rule(spec: RunSpec) -> Numbers:
        if spec.readout == "attention":
            return Numbers(id=0.01 if spec.seed == 0 else 0.2)
        return Numbers(id=0.1)

    assert stronger_attention(found(MAIN, rule), system="impact") == "scored_attention"


def test_there_is_no_stronger_attention_while_a_run_of_one_form_is_missing() -> None:
    there = found(MAIN, duel(), without=lambda spec: spec.readout == "attention" and spec.seed == 3)
    assert stronger_attention(there, system="gear") is None
    assert contest(there, system="gear") is None


def test_a_pair_needs_every_run_of_the_three() -> None:
    gone = next(spec for spec in MAIN.runs if spec.readout == "attention" and spec.system == "gear")
    there = found(MAIN, duel(), without=lambda spec: spec.id == gone.id)
    # Not even one run of the form that would not be compared with.
    assert contest(there, system="gear") is None
    assert contest(there, system="impact") is not None


def test_errors_are_means_and_deviations_over_seeds() -> None:
    there = found(MAIN, lambda spec: Numbers(ood=0.1 * spec.seed))
    records = there.of(system="gear", readout="crest")
    values = [0.1 * seed for seed in range(10)]
    assert error(records) == f"{statistics.fmean(values):.3f} ± {statistics.stdev(values):.3f}"
    assert error([]) == "-"


def test_lower_on_average_but_not_on_every_seed_is_partly() -> None:
    baseline = dict.fromkeys(range(10), 1.0)
    errors = {seed: 0.5 - 0.01 * seed for seed in range(9)} | {9: 1.001}
    result = paired(errors, baseline)
    # The one seed above has the smallest rank: p is 2/1024.
    assert (result.lower, result.p, result.smallest_p) == (9, 2 * 2.0**-10, 2.0**-10)
    claim = lower_error_claim("a", "b", -0.29, result, "attention")
    assert (claim.verdict, claim.seeds) == ("partly", 10)
    assert "lower on 9 of 10 seeds" in claim.measured


def test_lower_on_average_without_being_sure_does_not_hold() -> None:
    errors = {seed: 0.9 if seed < 6 else 1.1 for seed in range(10)}
    result = paired(errors, dict.fromkeys(range(10), 1.0))
    assert result.change < 0
    assert result.p > 0.05
    assert lower_error_claim("a", "b", -0.29, result, "attention").verdict == "does not hold"


def test_two_seeds_cannot_be_surer_than_they_can_be() -> None:
    result = paired({0: 0.9, 1: 0.8}, {0: 1.0, 1: 1.0})
    assert result.p == result.smallest_p == 0.25
    assert lower_error_claim("a", "b", -0.29, result, "attention").verdict == "partly"


# -- main


def test_the_headline_holds_on_ten_seeds_with_the_smallest_p() -> None:
    first, same_id, credit = claims(MAIN, duel())[:3]
    assert first.measured == f"−50.0 % against {SCORED}, lower on 10 of 10 seeds"
    assert (first.verdict, first.seeds, first.p, first.smallest_p) == ("holds", 10, 2.0**-10, 2.0**-10)
    assert (same_id.verdict, same_id.measured) == ("holds", "1.00 times")
    assert same_id.bar == "at most 1.4 times"
    assert (credit.verdict, credit.measured) == ("holds", "CiE@1 3.00 times, ECM 3.00 times")


def test_the_comparison_follows_the_form_that_is_stronger() -> None:
    rule = duel(dot=Numbers(id=0.08, ood=0.25), scored=Numbers(id=0.1, ood=0.4))
    there = shown(MAIN, rule)
    assert there.claims[0].measured == f"−20.0 % against {DOT}, lower on 10 of 10 seeds"
    assert there.claims[0].verdict == "partly"
    marked = [name for name in column(there.tables[0], "readout") if name.endswith("*")]
    assert marked == [f"{DOT} *"] * 2
    assert column(there.tables[0], "ΔOOD")[:6] == ["", "", "−20 %", "", "", "−20 %"]


@pytest.mark.parametrize(
    ("ratio", "gear", "impact"),
    [
        (0.99, "holds", "holds"),
        (1.1, "holds", "partly"),
        (1.39, "holds", "partly"),
        (1.41, *["does not hold"] * 2),
    ],
)
def test_the_id_error_has_a_bar_for_each_system(ratio: float, gear: str, impact: str) -> None:
    found_verdicts = verdicts(MAIN, duel(crest=Numbers(id=0.1 * ratio)))
    assert (found_verdicts[1], found_verdicts[4]) == (gear, impact)


@pytest.mark.parametrize(
    ("cie", "ecm", "verdict"),
    [(0.5, 0.5, "holds"), (0.9, 0.49, "partly"), (0.49, 0.9, "partly"), (0.9, 0.25, "does not hold")],
)
def test_credit_must_double_by_both_measures(cie: float, ecm: float, verdict: str) -> None:
    found_verdicts = verdicts(MAIN, duel(crest=Numbers(cie=cie, ecm=ecm)))
    assert (found_verdicts[2], found_verdicts[5]) == (verdict, verdict)


@pytest.mark.parametrize(
    ("ood", "gear", "impact"),
    [
        (0.19, "holds", "holds"),
        (0.28, "holds", "partly"),
        (0.29, "partly", "partly"),
        (0.41, *["does not hold"] * 2),
    ],
)
def test_the_error_must_fall_as_far_as_in_the_paper(ood: float, gear: str, impact: str) -> None:
    found_verdicts = verdicts(MAIN, duel(crest=Numbers(ood=ood)))
    assert (found_verdicts[0], found_verdicts[3]) == (gear, impact)


def test_a_system_whose_runs_are_there_is_measured_while_the_other_is_not() -> None:
    there = claims(MAIN, duel(), without=lambda spec: spec.system == "impact" and spec.seed == 7)
    assert [claim.verdict for claim in there] == ["holds"] * 3 + ["not measured"] * 3


def test_the_table_counts_the_seeds_that_are_there() -> None:
    table = shown(MAIN, duel(), without=lambda spec: spec.readout == "crest" and spec.seed < 3).tables[0]
    assert column(table, "seeds")[:6] == ["10/10", "10/10", "7/10"] * 2
    # No change is told of means over different seeds.
    assert column(table, "ΔOOD")[:6] == [""] * 6


# -- cross


def cross(worse: int) -> Callable[[RunSpec], Numbers]:
    """CREST is worse in the first so many places."""

    def rule(spec: RunSpec) -> Numbers:
        above = PLACES.index((spec.system, spec.encoder)) < worse
        return Numbers(ood=(0.5 if above else 0.3) if spec.readout == "crest" else 0.4)

    return rule


@pytest.mark.parametrize(
    ("worse", "measured", "verdict"),
    [
        (0, "9 of 9", "holds"),
        (2, "7 of 9; not with SG-Drive, pointwise, SG-Drive, convolution", "partly"),
        (
            4,
            "5 of 9; not with SG-Drive, pointwise, SG-Drive, convolution, SG-Drive, GRU, SG-Drive, Transformer",
            "partly",
        ),
    ],
)
def test_places_where_crest_is_lower_are_counted(worse: int, measured: str, verdict: str) -> None:
    (claim,) = claims(CROSS, cross(worse))
    assert (claim.measured, claim.verdict) == (measured, verdict)


def test_a_place_counts_only_where_crest_is_lower_on_every_seed() -> None:
    def rule(spec: RunSpec) -> Numbers:
        if (spec.system, spec.readout, spec.seed) == ("cwru", "crest", 4):
            return Numbers(ood=0.41)
        return cross(0)(spec)

    (claim,) = claims(CROSS, rule)
    assert (claim.measured, claim.verdict, claim.seeds) == ("8 of 9; not with CWRU, pointwise", "partly", 1)


def test_lower_in_less_than_half_of_the_places_does_not_hold() -> None:
    assert verdicts(CROSS, cross(5)) == ["does not hold"]


def test_a_place_without_all_of_its_runs_is_left_out_and_the_claim_with_it() -> None:
    there = shown(CROSS, cross(0), without=lambda spec: spec.system == "cwru" and spec.seed == 4)
    assert [row[0] for row in there.tables[0].rows] == [
        f"{system}, {encoder}"
        for system in ("SG-Drive", "Impact")
        for encoder in ("pointwise", "convolution", "GRU", "Transformer")
    ]
    assert there.claims[0].verdict == "not measured"
    assert all(len(series.x) == 8 for series in there.charts[0].panels[0].series)


def test_every_place_says_how_small_its_p_can_be() -> None:
    rows = shown(CROSS, cross(0)).tables[0].rows
    assert [row[7] for row in rows] == [f"{n}/{n}" for n in (10, 1, 3, 1, 10, 1, 1, 1, 5)]
    assert all(row[8] == row[9] for row in rows)


# -- the teaser


def teaser(*steps: int, traced: bool = True) -> Chart:
    there = shown(
        TEASER,
        lambda spec: Numbers(id=0.1 if spec.readout == "scored_attention" else 0.12, steps=steps),
        without=lambda spec: not traced and spec not in MAIN.runs,
    )
    return there.charts[0]


@pytest.mark.parametrize(
    ("steps", "bands"),
    [
        ((), []),
        ((5,), [(4.5, 5.5)]),
        ((3, 4, 5), [(2.5, 5.5)]),
        ((3, 4, 8), [(2.5, 4.5), (7.5, 8.5)]),
        ((0,), [(-0.5, 0.5)]),
        ((0, 1, 3, 11), [(-0.5, 1.5), (2.5, 3.5), (10.5, 11.5)]),
        ((0, 2, 4), [(-0.5, 0.5), (1.5, 2.5), (3.5, 4.5)]),
        (tuple(range(12)), [(-0.5, 11.5)]),
    ],
)
def test_consecutive_event_steps_are_one_band(
    steps: tuple[int, ...], bands: list[tuple[float, float]]
) -> None:
    for panel in teaser(*steps).panels[:3]:
        assert [(mark.at, mark.to) for mark in panel.marks] == bands
        assert {mark.axis for mark in panel.marks} <= {"x"}


def test_the_teaser_has_a_trajectory_the_stronger_attention_crest_and_the_errors() -> None:
    panels = teaser(3, 4).panels
    assert [panel.title[:3] for panel in panels] == ["(a)", "(b)", "(c)", "(d)"]
    assert panels[1].series[0].colour == "scored_attention"
    transience, votes = panels[2].series
    # Over their maximum, each.
    assert (max(transience.y), max(votes.y), votes.y[3], votes.y[5]) == (1, 1, 1, 0)
    assert [list(series.x) for series in panels[3].series] == [["SG-Drive", "Impact"]] * 2


def test_the_teaser_shows_no_errors_before_both_systems_are_done() -> None:
    there = shown(TEASER, without=lambda spec: spec.system == "impact" and spec.seed == 9)
    assert [panel.title[:3] for panel in there.charts[0].panels] == ["(a)", "(b)", "(c)"]


def test_there_is_no_teaser_without_traces() -> None:
    there = shown(TEASER, without=lambda spec: "traces" in spec.measures)
    assert (there.charts, there.tables[0].rows) == ((), ())


def test_the_explored_runs_are_those_with_traces() -> None:
    assert len(shown(TEASER).tables[0].rows) == 15
