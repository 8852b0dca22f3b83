"""Claims of the paper in the words of README and manual: how many hold, and what was found of each."""

from collections import Counter
from collections.abc import Callable, Mapping

from crest.lab.evidence.shown import BEYOND, Claim, Piece, Verdict

FIRST = (
    "CREST lowers the held-load error on CWRU",
    "CREST lowers the OOD error in every system and encoder",
)
"""Claims that the README names itself: what someone who takes CREST for a model of their own must know."""


def first_claims(pieces: Mapping[str, Piece]) -> str:
    """How many claims hold, and the few that a user must know, each as what was claimed and what was found."""
    claims = [claim for piece in pieces.values() for claim in piece.shown.claims]
    counts = Counter(claim.verdict for claim in claims)
    unknown = f", {counts['not measured']} are not measured" if counts["not measured"] else ""
    beyond = sum(claim.paper == BEYOND for claim in claims)
    head = (
        f"Of {len(claims)} claims that were checked ({beyond} of them beyond the paper), {counts['holds']} hold, {counts['partly']} hold in part and "
        f"{counts['does not hold']} do not{unknown}. Two that matter to a user:\n"
    )
    by_text = {claim.text: claim for claim in claims}
    return "\n".join([head, *(_short(by_text[text]) for text in FIRST)])


def claims_that(verdict: Verdict) -> Callable[[Mapping[str, Piece]], str]:
    """A function that lists all claims with this verdict: what was claimed, what was found, what shows it."""

    def listed(pieces: Mapping[str, Piece]) -> str:
        found = [
            _long(piece, claim)
            for piece in pieces.values()
            for claim in piece.shown.claims
            if claim.verdict == verdict
        ]
        return "\n".join(found) or "- None."

    return listed


def _short(claim: Claim) -> str:
    return f"- Claimed: {claim.text}. Paper: {claim.paper}. Found ({claim.verdict}): {claim.measured or 'nothing yet'}."


def _long(piece: Piece, claim: Claim) -> str:
    bar = f" Holds if: {claim.bar}." if claim.bar else ""
    seeds = "" if claim.seeds is None else f" Seeds: {claim.seeds}."
    return (
        f"- **Claimed:** {claim.text} (paper: {claim.paper}).\n"
        f"  **Found:** {claim.measured or 'not measured'}.{bar}{seeds} "
        f"Shown by `{piece.report_command}`."
    )
