"""The README's table and pictures show the records that are kept."""

import dataclasses
from pathlib import Path

import pytest
from PIL import Image

from crest.lab.evaluation import Score
from crest.lab.evidence.compare import percent
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.report.readme import (
    FAILURES,
    MADE_FROM,
    PICTURES,
    TABLE,
    chart_digest,
    charts,
    stale,
    with_results,
    write,
)
from crest.lab.runs.store import Store
from evidence_made import Numbers, duel
from evidence_made import write as write_records
from places import ROOT
from report_made import chart

BEFORE, BETWEEN, AFTER = "# crest\n\n| a | b |\n| --- | --- |\n\n", "\n\nbetween\n\n", "\n\nafter\n"


def marked(name: str, text: str) -> str:
    return f"<!-- {name} start -->\n{text}\n<!-- {name} end -->"


README = BEFORE + marked(TABLE, "old") + BETWEEN + marked(FAILURES, "- old") + AFTER


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """All records that the README shows."""
    folder = tmp_path_factory.mktemp("records")
    experiments = [MAIN_EXPERIMENT, *(experiment for experiment, _ in PICTURES.values())]
    return write_records(folder, experiments, duel())


@pytest.fixture(scope="module")
def written(records: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree whose README shows these records."""
    root = tmp_path_factory.mktemp("tree")
    (root / "README.md").write_text(README)
    (root / "docs").mkdir()
    write(root, records)
    return root


# -- what is kept


def test_the_readme_shows_the_kept_records() -> None:
    """Fails after a record has changed: `make pictures`."""
    assert stale(ROOT, Store(ROOT / "results")) == []


# -- the table


def test_only_what_stands_between_the_markers_is_replaced(records: Store) -> None:
    text = with_results(README, records)
    assert text.startswith(BEFORE + f"<!-- {TABLE} start -->\n")
    assert f"<!-- {TABLE} end -->{BETWEEN}<!-- {FAILURES} start -->" in text
    assert text.endswith(f"<!-- {FAILURES} end -->{AFTER}")
    assert "old" not in text
    table = text[: text.index(BETWEEN)]
    assert table.count("| SG-Drive |") == 3
    assert percent(-0.5) in table
    assert with_results(text, records) == text


def test_what_does_not_hold_is_listed_and_nothing_else(tmp_path: Path) -> None:
    store = write_records(
        tmp_path, [MAIN_EXPERIMENT], duel(crest=Numbers(id=0.1, ood=0.5, cie=0.75, ecm=0.75))
    )
    claims = MAIN_EXPERIMENT.piece(store).shown.claims
    wrong = [claim for claim in claims if claim.verdict == "does not hold"]
    lines = [line for line in with_results(README, store).splitlines() if line.startswith("- ")]
    # Deletion rests on the same records, and hurts CREST no more than attention here.
    assert lines[:2] == [f"- {claim.text}: {claim.measured}." for claim in wrong]
    assert len(wrong) == 2
    assert all("Deleting" in line for line in lines[2:])


@pytest.mark.parametrize("name", [TABLE, FAILURES])
@pytest.mark.parametrize("end", ["start", "end"])
def test_missing_markers_are_an_error(name: str, end: str, records: Store) -> None:
    with pytest.raises(ValueError, match=f"readme must have the lines <!-- {name} start -->"):
        with_results(README.replace(f"<!-- {name} {end} -->", ""), records)


# -- the pictures


def test_what_was_written_is_not_stale(written: Path, records: Store) -> None:
    assert stale(written, records) == []
    for file, shown in charts(records).items():
        with Image.open(written / file) as image:
            assert image.info[MADE_FROM] == chart_digest(shown)
            assert min(image.size) > 200


def test_a_picture_that_is_missing_or_says_nothing_is_stale(written: Path, records: Store) -> None:
    path = written / "docs" / "cross.png"
    kept = path.read_bytes()
    path.unlink()
    assert stale(written, records) == ["docs/cross.png"]
    Image.new("RGB", (300, 300)).save(path)
    assert stale(written, records) == ["docs/cross.png"]
    path.write_bytes(kept)
    assert stale(written, records) == []


def test_a_table_changed_by_hand_is_stale(written: Path, records: Store) -> None:
    readme = written / "README.md"
    kept = readme.read_text()
    readme.write_text(kept.replace("−50 %", "−60 %", 1))
    assert stale(written, records) == ["README.md"]
    readme.write_text(kept)


@pytest.mark.parametrize(
    ("experiment", "files"),
    [
        ("main", ["README.md", "docs/teaser.png", "docs/cross.png"]),
        ("docs/cross.png", ["docs/cross.png"]),
    ],
)
def test_a_changed_record_makes_what_shows_it_stale(
    experiment: str, files: list[str], written: Path, records: Store, tmp_path: Path
) -> None:
    runs = MAIN_EXPERIMENT.runs if experiment == "main" else PICTURES[experiment][0].runs
    spec = next(spec for spec in reversed(runs) if spec.readout == "crest")
    copy = Store(tmp_path / "copy")
    for path in records.folder.glob("*.json"):
        copy.path(path.stem).write_bytes(path.read_bytes())
    assert stale(written, copy) == []
    old = copy.read(spec.id)
    copy.path(spec.id).unlink()
    copy.write(dataclasses.replace(old, score=Score(id=old.score.id, ood=0.35)))
    assert stale(written, copy) == files


def test_pictures_need_their_records(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="store must have the records of teaser: crest run teaser"):
        charts(Store(tmp_path))


# -- the name of a chart's values


def test_the_digest_changes_with_every_value_and_word() -> None:
    names = {chart_digest(chart())}
    one = chart()
    panel = one.panels[0]
    series = dataclasses.replace(panel.series[0], y=[0.5, 0.4, 0.3000001])
    moved = dataclasses.replace(panel, series=(series, *panel.series[1:]))
    names.add(chart_digest(dataclasses.replace(one, panels=(moved, *one.panels[1:]))))
    names.add(chart_digest(dataclasses.replace(one, caption="other")))
    names.add(chart_digest(dataclasses.replace(one, panels=one.panels[:1])))
    marks = dataclasses.replace(panel, marks=panel.marks[1:])
    names.add(chart_digest(dataclasses.replace(one, panels=(marks, *one.panels[1:]))))
    assert len(names) == 5
    assert chart_digest(chart()) == chart_digest(one)
