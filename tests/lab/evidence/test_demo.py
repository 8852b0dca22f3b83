from crest.lab.evidence.demo import DEMO_EXPERIMENT
from crest.lab.evidence.names import named
from evidence_made import Numbers, column, duel, shown


def test_the_change_is_against_the_form_of_attention_with_the_lower_id_error() -> None:
    table = shown(DEMO_EXPERIMENT, duel()).tables[0]
    assert column(table, "readout") == [named("attention"), f"{named('scored_attention')} *", "CREST"]
    assert column(table, "ΔOOD") == ["", "", "−50 %"]
    assert column(table, "OOD error") == ["0.600", "0.400", "0.200"]
    assert "512 training trajectories" in table.caption
    rule = duel(dot=Numbers(id=0.09, ood=0.8))
    assert column(shown(DEMO_EXPERIMENT, rule).tables[0], "ΔOOD") == ["", "", "−75 %"]


def test_the_figure_has_a_trajectory_and_bars_without_whiskers() -> None:
    (chart,) = shown(DEMO_EXPERIMENT, duel()).charts
    assert [panel.title[:3] for panel in chart.panels] == ["(a)", "(b)", "(c)", "(d)"]
    seen, unseen = chart.panels[3].series
    assert (list(seen.y), list(unseen.y)) == ([0.12, 0.1, 0.1], [0.6, 0.4, 0.2])
    # One seed has no deviation.
    assert (seen.spread, unseen.spread) == (None, None)


def test_a_missing_run_leaves_the_table_and_no_change() -> None:
    there = shown(DEMO_EXPERIMENT, duel(), without=lambda spec: spec.readout == "attention")
    assert there.charts == ()
    assert column(there.tables[0], "OOD error") == ["-", "0.400", "0.200"]
    assert column(there.tables[0], "ΔOOD") == [""] * 3


def test_it_runs_on_a_development_seed() -> None:
    assert {spec.seed for spec in DEMO_EXPERIMENT.runs} == {1000}
