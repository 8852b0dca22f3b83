import dataclasses
import math

import pytest

from crest.lab.evidence.shown import Help, Shown
from crest.lab.report.helps import change_of, help_chart, help_sentences, help_table, helps_of
from report_made import piece

ECG = Help(
    place="MIT-BIH, CNN", real=True, unit="error rate", plain=0.4, repaired=0.1, expert=0.3, expert_is="high-pass", first=True,
)  # fmt: skip
UNTIED = Help(place="MIT-BIH, CNN", real=True, tied=False, unit="error rate", plain=0.0, repaired=0.04)
GEAR = Help(
    place="SG-Drive (worn), CNN", real=False, unit="deviations", plain=1.0, repaired=0.97, expert=0.5, expert_is="high-pass",
    pick="cannot tell", first=True,
)  # fmt: skip


def test_recordings_come_first_and_those_with_a_cue_before_the_others() -> None:
    pieces = [piece("a", shown=Shown(helps=(GEAR, UNTIED))), piece("b", shown=Shown(helps=(ECG,)))]
    assert helps_of(pieces) == (ECG, UNTIED, GEAR)


@pytest.mark.parametrize(
    ("plain", "repaired", "change"), [(0.4, 0.1, -0.75), (0.0, 0.1, math.inf), (0.0, 0.0, 0.0)]
)
def test_a_model_without_an_error_can_only_get_worse(plain: float, repaired: float, change: float) -> None:
    assert change_of(dataclasses.replace(ECG, plain=plain, repaired=repaired)) == change


def test_the_first_sentence_has_the_recordings_and_the_others_count_what_was_harmed() -> None:
    assert help_sentences((ECG, UNTIED, GEAR)) == (
        "Field error before → after `crest.repair`: MIT-BIH, CNN 0.40 → 0.10 (expert 0.30).",
        "Recordings with a misleading cue: lower in 1 of 1 places, about even in 0, higher in 0.",
        "Recordings without one: lower in 0 of 1 places, about even in 0, higher in 1.",
        "Simulators: lower in 0 of 1 places, about even in 1, higher in 0.",
    )
    assert help_sentences((GEAR,))[0].startswith("Simulators")


def test_bars_are_of_the_first_screens_places_in_panels_by_unit() -> None:
    chart = help_chart((ECG, UNTIED, GEAR))
    assert chart is not None
    assert [panel.title.partition(":")[0] for panel in chart.panels] == ["Recordings", "Simulators"]
    assert [series.y for series in chart.panels[0].series] == [[0.4], [0.3], [0.1]]
    assert chart.panels[1].series[0].x == ["SG-Drive, CNN"]
    assert [series.hover for series in chart.panels[1].series] == [[""], ["high-pass"], ["cannot tell"]]
    assert help_chart((UNTIED,)) is None


def test_the_table_has_every_place() -> None:
    rows = help_table((ECG, UNTIED, GEAR)).rows
    assert rows[0] == (
        "MIT-BIH, CNN",
        "real",
        "yes",
        "0.40",
        "0.30",
        "high-pass",
        "0.10",
        "differs by seed",
        "−75 %",
    )
    assert rows[1][2:] == ("no", "0.00", "", "", "0.04", "differs by seed", "from none")
    assert rows[2][1] == "simulated"
