"""Every check of ours stands in one place: in the row of a claim of the paper, or beyond it."""

from collections import Counter

import pytest

from crest.lab.evidence.paper_claims import (
    PAPER_CLAIMS,
    WITHOUT_A_ROW,
    beyond,
    nearest_settings,
    paper_rows,
    row_of,
)
from crest.lab.evidence.severe import IN_SEVERE
from crest.lab.evidence.shown import BEYOND, Claim, Verdict
from paper_made import NEAREST, every_check, pieces

EVERY = every_check()


def verdict(key: str, **told: Verdict) -> Verdict:
    """The verdict on a claim, where the checks with these texts have these verdicts."""
    return next(row.verdict for row in paper_rows(pieces(told)) if row.claim.key == key)


@pytest.mark.parametrize("claim", PAPER_CLAIMS, ids=lambda claim: claim.key)
def test_every_claim_of_the_paper_has_a_check_and_a_place(claim) -> None:
    assert any(row_of(text) is claim for text in EVERY)
    assert claim.where


def test_every_check_stands_in_one_row_or_beyond_the_paper() -> None:
    rows = paper_rows(pieces())
    shown_there = {
        check.claim.text for row in rows for check in (*row.own, *row.stronger, *row.severe, *row.severe_own)
    }
    others = {check.claim.text for check in beyond(pieces())}
    assert not shown_there & others
    # The forms of attention that are neither the paper's nor the stronger one are the rest.
    rest = set(EVERY) - shown_there - others
    assert rest == {
        text for text in EVERY if "(MLP)" in text and "SG-Drive" in text and text.startswith(IN_SEVERE)
    } | {f"{IN_SEVERE}While attention (MLP) trains, its event credit peaks early and then falls below chance"}


def test_what_is_beyond_the_paper_says_so_or_is_listed() -> None:
    unlisted = [
        check.claim.text
        for check in beyond(pieces())
        if check.claim.paper != BEYOND and check.claim.text not in WITHOUT_A_ROW
    ]
    assert unlisted == []
    assert set(WITHOUT_A_ROW) <= set(EVERY)
    assert not [text for text, claim in EVERY.items() if claim.paper == BEYOND and row_of(text) is not None]


def test_keys_and_texts_are_there_once() -> None:
    for field in ("key", "text", "check"):
        counts = Counter(getattr(claim, field) for claim in PAPER_CLAIMS)
        assert [one for one, count in counts.items() if count > 1] == []


def test_a_claim_is_judged_against_the_stronger_attention_in_the_nearest_setting() -> None:
    credit = "CREST at least doubles the event credit of {} on {}"
    gear = credit.format("attention (MLP)", "SG-Drive")
    assert verdict("credit-SG-Drive", **{gear: "does not hold"}) == "does not hold"
    for other in (credit.format("attention (dot)", "SG-Drive"), f"{IN_SEVERE}{gear}"):
        assert verdict("credit-SG-Drive", **{other: "does not hold"}) == "holds"
    impact = credit.format("attention (MLP)", "Impact")
    assert verdict("credit-Impact", **{impact: "does not hold"}) == "holds"
    assert verdict("credit-Impact", **{f"{IN_SEVERE}{impact}": "partly"}) == "partly"


def test_a_claim_that_was_not_tested_in_the_nearest_setting_is_judged_in_the_default_one() -> None:
    check = "Selecting stable steps is the worst configuration of the study on Impact"
    assert verdict("stable-Impact", **{check: "does not hold"}) == "does not hold"
    row = next(row for row in paper_rows(pieces()) if row.claim.key == "stable-Impact")
    assert (row.setting, row.severe) == ("default", ())


@pytest.mark.parametrize("key", ["guess-Impact", "recurrent-guess"])
def test_the_errors_that_choose_the_setting_are_judged_in_the_default_one(key: str) -> None:
    """In the setting that was chosen for its baselines' errors, a claim about these errors would be its own evidence."""
    (row,) = [row for row in paper_rows(pieces()) if row.claim.key == key]
    assert nearest_settings(pieces())[row.claim.place].name == "severe"
    assert row.setting == "default"
    assert row.verdict == row.default_verdict


def test_the_bearings_are_judged_in_their_nearest_windows() -> None:
    text = "CREST lowers the held-load error on CWRU"
    assert verdict("bearings", **{text: "does not hold"}) == "holds"
    assert verdict("bearings", **{f"{text}, standardised windows": "partly"}) == "partly"
    row = next(row for row in paper_rows(pieces()) if row.claim.key == "bearings")
    assert [check.label for check in row.own] == [
        "raw windows",
        "standardised windows",
        "standardised windows, convolution",
    ]


def test_the_default_setting_has_a_verdict_of_its_own() -> None:
    text = "With a GRU on SG-Drive, CREST is well below last state, ERM and group DRO"
    row = next(row for row in paper_rows(pieces({text: "does not hold"})) if row.claim.key == "recurrent")
    assert (row.verdict, row.default_verdict) == ("holds", "does not hold")


def test_without_knowing_the_nearest_setting_nothing_is_judged() -> None:
    assert paper_rows(pieces(rows=NEAREST[:4])) == ()
    assert nearest_settings({}) == {}
    assert nearest_settings(pieces())["Impact"].off == {"default": "2.0 times", "severe": "1.1 times"}


def test_a_check_of_nothing_in_the_paper_has_no_row() -> None:
    assert row_of("CREST makes coffee") is None
    assert Claim(text="", paper=BEYOND).verdict == "not measured"
