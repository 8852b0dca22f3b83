import pytest

from crest.lab.evidence.compare import contest
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import (
    CONTEST_COLUMNS,
    by_readout,
    by_system,
    contest_bars,
    error_chart,
    error_panel,
    errors_of,
    grouped_table,
    mean_series,
    shown_by_system,
)
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.shown import Claim
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, duel, found


def rule(spec: RunSpec) -> Numbers:
    """Errors that tell system, readout and seed apart."""
    readout = {"attention": 0.1, "scored_attention": 0.2, "crest": 0.3}[spec.readout]
    ood = (1 if spec.system == "gear" else 2) + readout + 0.01 * spec.seed
    return Numbers(id=readout, ood=ood, cie=readout, ecm=readout)


def groups(there: Found) -> dict[tuple[str, ...], list[Record]]:
    return by_system(lambda system: by_readout(there, system=system))


# -- groups


def test_groups_are_called_by_system_and_readout_in_their_order() -> None:
    there = groups(found(MAIN_EXPERIMENT, rule))
    readouts = ["attention", "scored_attention", "crest"]
    assert list(there) == [(system, readout) for system in ("gear", "impact") for readout in readouts]
    for (system, readout), records in there.items():
        assert {(one.spec.system, one.spec.readout) for one in records} == {(system, readout)}
        assert len(records) == 10


# -- tables


def test_a_row_has_words_then_the_cells_that_its_headings_ask_for() -> None:
    header = ("system", "readout", "seeds", "OOD", "ID", "CiE@1")
    table = grouped_table("a", "b", header, groups(found(MAIN_EXPERIMENT, rule)))
    assert (table.name, table.caption, table.header) == ("a", "b", header)
    assert table.rows[0] == (
        "SG-Drive",
        "attention (dot)",
        "10",
        "1.145 ± 0.030",
        "0.100 ± 0.000",
        "0.10 ± 0.00",
    )
    assert table.rows[5][:4] == ("Impact", "CREST", "10", "2.345 ± 0.030")


def test_a_group_without_records_has_a_row_of_dashes() -> None:
    header = ("system", "readout", "ID", "OOD", "CiE@1", "seeds")
    there = groups(found(MAIN_EXPERIMENT, rule, without=lambda spec: spec.system == "gear"))
    rows = grouped_table("a", "b", header, there).rows
    assert rows[2] == ("SG-Drive", "CREST", "-", "-", "-", "0")
    assert rows[5][5] == "10"


def test_extra_cells_stand_where_they_are_given_and_go_before_a_column_of_that_name() -> None:
    header = ("readout", "ID", "ΔOOD")
    there = {("mean",): [], ("crest",): []}
    table = grouped_table(
        "a", "b", header, there, extra={"ΔOOD": {("crest",): "−5 %"}, "ID": {("mean",): "own"}}
    )
    assert table.rows == (("mean", "own", ""), ("CREST", "", "−5 %"))


def test_a_star_marks_the_group_and_not_its_namesake_elsewhere() -> None:
    there = {(system, "crest"): [] for system in ("gear", "impact")}
    table = grouped_table("a", "b", ("system", "readout", "seeds"), there, starred=[("impact", "crest")])
    assert [row[1] for row in table.rows] == ["CREST", "CREST *"]


def test_contests_have_columns_of_their_own_and_dashes_while_there_is_none() -> None:
    header = ("place", "attention is", "ID, CREST", "OOD, attention", "ΔOOD", "lower on", "p", "CiE@1, both")
    there = {("here",): contest(found(MAIN_EXPERIMENT, duel()), system="gear"), ("there",): None}
    table = grouped_table("a", "b", header, there, CONTEST_COLUMNS)
    assert table.rows[0] == (
        "here",
        "attention (MLP)",
        "0.100 ± 0.000",
        "0.400 ± 0.000",
        "−50 %",
        "10/10",
        "0.001",
        "0.25 ± 0.00 / 0.75 ± 0.00",
    )
    assert table.rows[1] == ("there", *["-"] * 7)


def test_a_heading_that_no_column_has_is_an_error() -> None:
    with pytest.raises(KeyError, match="OOOD"):
        grouped_table("a", "b", ("readout", "OOOD"), {("crest",): []})


# -- charts


def test_means_have_whiskers_and_one_value_has_none() -> None:
    bars = mean_series("OOD", {"mean": [1.0, 3.0], "CREST": [1.0]}, "ood", hover=["x", "y"])
    assert (bars.look, bars.colour, list(bars.x), list(bars.hover or [])) == (
        "bars", "ood", ["mean", "CREST"], ["x", "y"],
    )  # fmt: skip
    assert bars.spread == pytest.approx([2**0.5, 0.0])
    line = mean_series("OOD", {0.1: [1.0], 0.2: [2.0]}, "ood", look="line")
    assert (line.look, list(line.x), list(line.y)) == ("line", [0.1, 0.2], [1.0, 2.0])


def test_a_panel_has_both_errors_side_by_side() -> None:
    panel = error_panel("here", {"id": {"CREST": [0.1]}, "ood": {"CREST": [0.2]}})
    assert [(series.name, series.colour, series.y) for series in panel.series] == [
        ("ID error", "id", [0.1]),
        ("OOD error", "ood", [0.2]),
    ]


def test_a_chart_has_a_panel_for_each_place_and_bars_for_the_groups_that_are_there() -> None:
    there = groups(
        found(
            MAIN_EXPERIMENT,
            rule,
            without=lambda spec: (spec.system, spec.readout) == ("gear", "attention"),
        )
    )
    chart = error_chart("a", "b", there)
    assert [panel.title for panel in chart.panels] == ["SG-Drive", "Impact"]
    gear, impact = (panel.series[1] for panel in chart.panels)
    assert (list(gear.x), gear.y) == (["attention (MLP)", "CREST"], pytest.approx([1.245, 1.345]))
    assert list(impact.x) == ["attention (dot)", "attention (MLP)", "CREST"]


def test_errors_of_a_group_are_those_of_its_seeds() -> None:
    records = found(MAIN_EXPERIMENT, rule).of(system="gear", readout="crest")
    errors = errors_of({"crest": records, "mean": []})
    assert errors["ood"] == {"CREST": pytest.approx([1.3 + 0.01 * seed for seed in range(10)])}
    assert errors["id"] == {"CREST": [0.3] * 10}


def test_bars_of_contests_are_the_ood_errors_of_both_sides() -> None:
    there = contest(found(MAIN_EXPERIMENT, duel()), system="gear")
    assert there is not None
    attention, crest = contest_bars({"here": there}, "attention (stronger form)", ["−50 %"])
    assert (attention.name, attention.colour, list(attention.x)) == (
        "attention (stronger form)", "attention", ["here"],
    )  # fmt: skip
    assert (crest.name, crest.colour, crest.hover) == ("CREST", "crest", ["−50 %"])
    assert (attention.y, crest.y) == (pytest.approx([0.4]), pytest.approx([0.2]))


# -- both together


def test_a_piece_of_both_systems_says_only_its_groups_and_its_claim() -> None:
    show = shown_by_system(
        "small",
        groups=lambda there, system: {"CREST as it is": there.of(system=system, readout="crest")},
        header=("system", "what", "OOD", "twice"),
        caption="A table.",
        chart_caption="A chart.",
        claim=lambda there, system: Claim(text=f"{system}, {len(there)}", paper=""),
        columns={"OOD": lambda records: f"{len(records)}", "twice": lambda records: f"{2 * len(records)}"},
    )
    one = Experiment(name="small", evidence="", summary="", show=show, runs=MAIN_EXPERIMENT.runs)
    there = one.show(found(one, rule))
    (table,), (chart,) = there.tables, there.charts
    assert (table.name, table.caption, chart.name, chart.caption) == (
        "small",
        "A table.",
        "small",
        "A chart.",
    )
    assert table.rows == (
        ("SG-Drive", "CREST as it is", "10", "20"),
        ("Impact", "CREST as it is", "10", "20"),
    )
    assert [panel.title for panel in chart.panels] == ["SG-Drive", "Impact"]
    assert [claim.text for claim in there.claims] == ["gear, 60", "impact, 60"]
