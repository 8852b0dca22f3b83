import pytest

from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.shown import Chart
from crest.lab.evidence.teaser import TEASER_EXPERIMENT
from evidence_made import Numbers, shown


def teaser(*steps: int, traced: bool = True) -> Chart:
    there = shown(
        TEASER_EXPERIMENT,
        lambda spec: Numbers(id=0.1 if spec.readout == "scored_attention" else 0.12, steps=steps),
        without=lambda spec: not traced and spec not in MAIN_EXPERIMENT.runs,
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
    there = shown(TEASER_EXPERIMENT, without=lambda spec: spec.system == "impact" and spec.seed == 9)
    assert [panel.title[:3] for panel in there.charts[0].panels] == ["(a)", "(b)", "(c)"]


def test_there_is_no_teaser_without_traces() -> None:
    there = shown(TEASER_EXPERIMENT, without=lambda spec: "traces" in spec.measures)
    assert (there.charts, there.tables[0].rows) == ((), ())


def test_the_explored_runs_are_those_with_traces() -> None:
    assert len(shown(TEASER_EXPERIMENT).tables[0].rows) == 15
