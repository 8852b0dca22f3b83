from crest.lab.evidence.shown import Claim, Piece, Shown
from crest.lab.report.told_claims import FIRST, claims_that, first_claims


def made(*verdicts: str) -> dict[str, Piece]:
    """A piece whose claims have these verdicts; the README's own come first."""
    texts = [*FIRST, *(f"claim {number}" for number in range(len(verdicts)))]
    claims = tuple(
        Claim(text=text, paper="10 %", measured=f"{number} %", verdict=verdict, bar="more", seeds=3)
        for number, (text, verdict) in enumerate(zip(texts, verdicts, strict=False))
    )
    shown = Shown(claims=claims)
    piece = Piece(
        name="made",
        evidence="Table 9",
        summary="?",
        found=1,
        declared=1,
        command="crest run made",
        shown=shown,
    )
    return {"made": piece}


VERDICTS = ("partly", "does not hold", "does not hold", "holds", "not measured")


def test_the_readme_counts_the_claims_and_names_three() -> None:
    head, _, *lines = first_claims(made(*VERDICTS)).splitlines()
    assert (
        "Of 5 claims that were checked (0 of them beyond the paper), 1 hold, 1 hold in part and 2 do not, 1 are not measured."
        in head
    )
    verdicts = VERDICTS[: len(FIRST)]
    assert lines == [
        f"- Claimed: {text}. Paper: 10 %. Found ({verdict}): {number} %."
        for number, (text, verdict) in enumerate(zip(FIRST, verdicts, strict=True))
    ]


def test_the_manual_lists_every_claim_under_its_verdict() -> None:
    there = {
        verdict: claims_that(verdict)(made(*VERDICTS)).splitlines()
        for verdict in ("does not hold", "partly", "holds", "not measured")
    }
    assert {verdict: len(lines) / 2 for verdict, lines in there.items()} == {
        "does not hold": 2,
        "partly": 1,
        "holds": 1,
        "not measured": 1,
    }
    assert there["partly"] == [
        f"- **Claimed:** {FIRST[0]} (paper: 10 %).",
        "  **Found:** 0 %. Holds if: more. Seeds: 3. Shown by `crest report made`.",
    ]


def test_a_verdict_that_no_claim_has_says_so() -> None:
    assert claims_that("partly")(made("holds", "holds", "holds")) == "- None."
