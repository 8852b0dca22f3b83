"""What the page of a study opens with."""

import dataclasses
from pathlib import Path

import pytest

from crest._pages.panels import BarPanel, FirstScreen
from crest.exchange.sensitivity import Sensitivity
from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.study_file import study_of
from crest.lab.evidence.study_screen import NOTHING
from crest.lab.runs.record import Record, Shares
from evidence_made import Numbers, Rule, found, plain, record
from studies_made import made_study

FLAT = Shares(transient=0.0, background=0.0, interaction=0.0, background_alone=0.0, exchanged_error=1.0)


def study(folder: Path, encoders: tuple[str, ...] = ("pointwise",), **recordings: object) -> Experiment:
    return study_of(made_study(folder, recordings=recordings, models={"encoders": [*encoders]}))


def screen(made: Experiment, rule: Rule = plain, **options: object) -> FirstScreen:
    first = made.show(found(made, rule, **options)).first
    assert first is not None
    return first


def screen_of(made: Experiment, records: dict[str, Record]) -> FirstScreen:
    there = found(made)
    there.records = records
    first = made.show(there).first
    assert first is not None
    return first


def bars_of(first: FirstScreen) -> BarPanel:
    (panel,) = first.left
    assert isinstance(panel, BarPanel)
    return panel


@pytest.mark.parametrize(
    ("numbers", "recordings", "mark", "word"),
    [
        (Numbers(ood=0.2), {}, "good", "the pick holds in the field"),
        (Numbers(ood=0.9), {}, "bad", "the pick fails in the field"),
        (Numbers(id=0.9), {}, "bad", "nothing learnt"),
        (Numbers(transient=0.05), {}, "doubt", "cannot tell"),
        (Numbers(), {"condition": None, "ood": None}, "doubt", "field unknown"),
    ],
)
def test_the_line_is_green_amber_or_red_by_what_the_pick_does(
    tmp_path: Path, numbers: Numbers, recordings: dict[str, object], mark: str, word: str
) -> None:
    made = study(tmp_path, **recordings)
    first = screen(made, lambda _: numbers)
    (line,) = first.findings
    assert (line.mark, line.word) == (mark, word)
    assert line.sentence == made.show(found(made, lambda _: numbers)).headline
    assert bool(line.todo) == (word in ("the pick fails in the field", "cannot tell", "field unknown"))


def test_a_pick_that_hardly_learnt_is_amber_beside_one_that_did(tmp_path: Path) -> None:
    def numbers(spec: object) -> Numbers:
        return Numbers(id=0.85, transient=0.9) if spec.readout == "crest" else Numbers(id=0.1, transient=0.2)

    (line,) = screen(study(tmp_path), numbers).findings
    assert (line.mark, line.word) == ("doubt", "the pick has hardly learnt")


def test_what_is_not_finished_is_not_green(tmp_path: Path) -> None:
    made = study(tmp_path)
    (line,) = screen(made, lambda _: Numbers(ood=0.2), without=lambda spec: spec.seed == 1).findings
    assert (line.mark, line.word) == ("doubt", "incomplete")
    assert line.sentence.startswith("So far, with runs missing: ")


def test_bars_are_the_errors_with_a_line_from_seed_to_seed(tmp_path: Path) -> None:
    def numbers(spec: object) -> Numbers:
        better = spec.readout == "crest"
        return Numbers(id=0.1 + spec.seed / 10, ood=0.2 if better else 1.2, transient=0.9 if better else 0.5)

    panel = bars_of(screen(study(tmp_path), numbers))
    assert panel.models == ("ID", "expected", "field (OOD)")
    assert (panel.line, panel.line_name) == (1.0, "a guess")
    # The lowest expected error first: it decides.
    assert [(row.name, row.note, row.strong) for row in panel.rows] == [
        ("CREST", "the rule's pick", True),
        ("mean", "", False),
    ]
    id_bar, expected, field = panel.rows[0].bars
    assert id_bar is not None
    assert (id_bar.value, id_bar.low, id_bar.high) == (pytest.approx(0.15), 0.1, 0.2)
    assert expected is not None
    assert expected.value == pytest.approx(0.2)
    assert field is not None
    assert not field.above
    assert [bar.above for bar in panel.rows[1].bars if bar is not None] == [False, False, True]


def test_without_ood_there_is_no_bar_of_the_field_and_of_one_seed_no_line(tmp_path: Path) -> None:
    made = study_of(
        made_study(
            tmp_path,
            recordings={"condition": None, "ood": None},
            models={"encoders": ["pointwise"], "seeds": 1},
        )
    )
    panel = bars_of(screen(made))
    assert panel.models == ("ID", "expected")
    assert {row.note for row in panel.rows} == {"the rule's pick", ""}
    assert {bar.low for row in panel.rows for bar in row.bars if bar is not None} == {None}


def test_of_many_models_the_pick_the_best_and_those_of_the_lowest_expected_error_are_shown(
    tmp_path: Path,
) -> None:
    readouts = ["mean", "last", "max", "attention", "scored_attention", "gated_attention", "crest"]
    made = study_of(
        made_study(tmp_path, models={"encoders": ["pointwise", "local"], "readouts": readouts, "seeds": 1})
    )

    def numbers(spec: object) -> Numbers:
        if (spec.encoder, spec.readout) == ("pointwise", "mean"):
            return Numbers(transient=0.1, ood=0.01)
        return Numbers(transient=0.9 if spec.readout == "crest" else 0.5)

    panel = bars_of(screen(made, numbers))
    assert len(panel.rows) == 12
    assert "12 of 14 models are shown" in panel.caption
    # The last of all by its expected error.
    assert (panel.rows[-1].name, panel.rows[-1].note) == ("pointwise, mean", "best in hindsight")


def test_what_moves_the_pick_is_a_mean_over_seeds(tmp_path: Path) -> None:
    made = study(tmp_path)
    records = {}
    for spec in made.runs:
        one = record(spec)
        assert one.spectral is not None
        moved = 0.2 + 0.2 * spec.seed
        nuisances = {"offset": Sensitivity(moved=moved, moved_interval=(moved, moved))}
        if spec.seed == 0:
            nuisances["gain"] = nuisances["offset"]
        records[spec.id] = dataclasses.replace(
            one, spectral=dataclasses.replace(one.spectral, nuisances=nuisances)
        )
    (panel,) = screen_of(made, records).below
    assert panel.title == "What moves the prediction of mean"
    # The gain was not measured on every seed.
    assert [(row.name, row.bars[0].value) for row in panel.rows] == [("offset", pytest.approx(0.3))]
    # Without nuisances in the records there is no empty box.
    assert screen(made).below == ()


def test_without_what_a_finding_needs_a_sentence_says_so(tmp_path: Path) -> None:
    made = study(tmp_path)
    assert screen(made, without=lambda _: True) == NOTHING
    early = {spec.id: dataclasses.replace(record(spec), spectral=None) for spec in made.runs}
    first = screen_of(made, early)
    assert (first, len(first.findings), first.left, first.below) == (NOTHING, 1, (), ())


def test_a_model_that_the_rule_cannot_compare_is_left_out_and_has_no_expected_error(tmp_path: Path) -> None:
    """A constant prediction has no error with declared nuisances swapped: the rule refused the whole study for it."""
    made = study(tmp_path)
    records = {spec.id: record(spec) for spec in made.runs}
    some = {
        key: dataclasses.replace(one, exchange=FLAT, spectral=FLAT) if one.spec.readout == "mean" else one
        for key, one in records.items()
    }
    first = screen_of(made, some)
    assert {row.name: row.bars[1] is None for row in bars_of(first).rows} == {"CREST": False, "mean": True}
    there = found(made)
    there.records = some
    assert made.show(there).notes[-1].startswith("The rule leaves out mean: ")
    none = {
        key: dataclasses.replace(one, spectral=dataclasses.replace(FLAT, exchanged_error=None))
        for key, one in records.items()
    }
    first = screen_of(made, none)
    assert first.findings[0].word == "cannot tell"
    assert [row.bars[1] for row in bars_of(first).rows] == [None, None]
