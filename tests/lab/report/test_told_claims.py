from collections.abc import Mapping

import pytest

from crest.lab.evidence.paper_claims import PAPER_CLAIMS, beyond, paper_rows
from crest.lab.evidence.shown import Piece, Verdict
from crest.lab.report.told_claims import (
    MATTER,
    bar_table,
    beyond_table,
    beyond_text,
    count_in_full,
    count_of,
    first_claims,
    nearest_text,
    not_holding,
    paper_table,
)
from paper_made import pieces

CROSS = "CREST lowers the OOD error in every system and encoder"
COUNT = len(PAPER_CLAIMS)


def told(**verdicts: Verdict) -> Mapping[str, Piece]:
    return pieces(verdicts)


def test_the_front_counts_the_papers_claims_and_names_those_that_matter_and_do_not_hold() -> None:
    text = first_claims(told(**{CROSS: "partly"}))
    assert text.startswith(
        f"Of the paper's {COUNT} claims, {COUNT - 1} hold here, 1 hold in part and 0 do not."
    )
    assert text.splitlines()[2:] == [
        "- CREST lowers the OOD error with every system and encoder: so (partly). Paper: all five."
    ]
    assert {claim.key for claim in PAPER_CLAIMS} >= set(MATTER)


def test_runs_that_are_missing_are_told() -> None:
    assert "not all there" in first_claims({})
    assert "1 are not measured" in count_of(paper_rows(told(**{CROSS: "not measured"})))
    assert "are not there" in nearest_text({})


def test_the_count_in_the_default_setting_stands_beside() -> None:
    text = "With a GRU on SG-Drive, CREST is well below last state, ERM and group DRO"
    in_full = count_in_full(paper_rows(told(**{text: "does not hold"})))
    assert f"{COUNT} hold here" in in_full
    assert in_full.endswith(f"alone, {COUNT - 1} would hold, 0 in part and 1 not.")


def test_what_does_not_hold_has_a_line_with_the_paper_the_finding_and_the_setting() -> None:
    text = "In the severe setting: CREST's ID error stays near attention's on Impact"
    assert not_holding(told(**{text: "does not hold"})) == (
        "- Impact: CREST's ID error stays near attention's: so (does not hold, severe). Paper: 0.92 times."
    )
    assert not_holding(told()) == "- None."


def test_two_sentences_tell_the_nearest_setting() -> None:
    text = nearest_text(told())
    assert text.count(". ") == 1 + text.count("1. ")
    assert "**default** for SG-Drive, **severe** for Impact" in text
    assert "SG-Drive 1.1 times (severe 3.0 times)" in text


def test_a_row_has_the_paper_each_attention_the_severe_setting_and_the_verdict() -> None:
    severe = "In the severe setting: CREST at least doubles the event credit of attention (dot) on Impact"
    table = paper_table(paper_rows(told(**{severe: "partly"})))
    assert len(table.rows) == COUNT
    row = next(row for row in table.rows if "Impact: CREST doubles the event credit at least" in row[0])
    assert row[1:] == (
        "CiE@1 40, ECM 21 times",
        "so (holds)",
        "so (holds)",
        "so (holds); attention (dot): so (partly)",
        "holds (severe)",
    )
    assert row[0].endswith(" (Table 1, Main result)")
    # A claim that has no attention in it.
    assert table.rows[0][2:] == ("", "so (holds)", "", "holds")


def test_bars_and_what_is_beyond_the_paper_have_tables_of_their_own() -> None:
    there = told()
    bars = bar_table(paper_rows(there))
    assert [row[0] for row in bars.rows] == [str(number) for number in range(1, COUNT + 1)]
    assert bars.rows[0] == ("1", "a bar", "5", "`crest report some`")
    others = beyond(there)
    table = beyond_table(others)
    assert len(table.rows) == len(others) > 20
    assert table.rows[0][1:] == ("so", "a bar", "5", "`crest report some`", "holds")
    assert beyond_text(there) == (
        f"Of {len(others)} claims beyond the paper, {len(others)} hold, 0 hold in part and 0 do not."
    )


@pytest.mark.parametrize("made", [bar_table, paper_table])
def test_without_rows_a_table_is_empty(made) -> None:
    assert made(()).rows == ()
