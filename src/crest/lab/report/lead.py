"""What the page begins with: one sentence, three numbers and a picture, as far as the pieces have them."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from crest.lab.evidence.shown import Chart, Comparison, Piece

SENTENCE = (
    "A model that pools a long series may read a smooth cue instead of the brief event that decides the label, look right, and "
    "fail once the cue breaks; CREST selects transient steps without labels, which mends this in some places and not in others."
)
HEADLINE = ("SG-Drive", "Impact")
"""The systems of the first number."""
LEAD_NUMBERS = 3
"""How many numbers there are room for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LeadNumber:
    """A number in large letters, and what it is."""

    value: str
    words: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lead:
    """The first screen of the page; `picture` is the chart of Figure 1, and `piece` the piece that has it."""

    sentence: str
    numbers: tuple[LeadNumber, ...]
    picture: Chart | None
    piece: str = ""


def lead_of(pieces: Sequence[Piece]) -> Lead:
    """The first screen of these pieces. A number whose runs are missing gives way to the next.

    Example:
        >>> lead_of([]).numbers
        ()
    """
    by_name = {piece.name: piece for piece in pieces}
    numbers = [*_headline(by_name), *_places(by_name), *_held(pieces), *_runs(pieces)]
    pictures = [
        (piece.name, chart) for piece in pieces for chart in piece.shown.charts if chart.name == "teaser"
    ]
    name, picture = pictures[0] if pictures else ("", None)
    return Lead(sentence=SENTENCE, numbers=tuple(numbers[:LEAD_NUMBERS]), picture=picture, piece=name)


def _rows(pieces: Mapping[str, Piece], piece: str, table: str) -> list[dict[str, str]]:
    """The rows of a table by heading; none where it is missing."""
    found = [one for one in pieces[piece].shown.tables if one.name == table] if piece in pieces else []
    return [dict(zip(one.header, row, strict=True)) for one in found for row in one.rows]


def _headline(pieces: Mapping[str, Piece]) -> Iterator[LeadNumber]:
    changes = {
        row["system"]: row["ΔOOD"]
        for row in _rows(pieces, "main", "main")
        if row.get("readout") == "CREST"
        and row.get("system") in HEADLINE
        and isinstance(row.get("ΔOOD"), Comparison)
    }
    if set(changes) == set(HEADLINE):
        yield LeadNumber(
            value=" and ".join(changes[system] for system in HEADLINE),
            words=f"change of the OOD error against attention, CREST on {' and '.join(HEADLINE)}, pointwise encoder",
        )


def _places(pieces: Mapping[str, Piece]) -> Iterator[LeadNumber]:
    shares = [
        share.value
        for row in _rows(pieces, "cross", "cross")
        if isinstance(share := row.get("lower on"), Comparison)
    ]
    if shares:
        yield LeadNumber(
            value=f"{shares.count(1)} of {len(shares)}",
            words="pairs of system and encoder in which CREST lowers the OOD error on every seed",
        )


def _held(pieces: Sequence[Piece]) -> Iterator[LeadNumber]:
    verdicts = [claim.verdict for piece in pieces for claim in piece.shown.claims]
    judged = [verdict for verdict in verdicts if verdict != "not measured"]
    if judged:
        words = f"claims hold; {judged.count('partly')} hold partly, {judged.count('does not hold')} do not"
        missing = len(verdicts) - len(judged)
        yield LeadNumber(
            value=f"{judged.count('holds')} of {len(judged)}",
            words=words + (f", {missing} more are not measured" if missing else ""),
        )


def _runs(pieces: Sequence[Piece]) -> Iterator[LeadNumber]:
    declared = sum(piece.declared for piece in pieces)
    if declared:
        found = sum(piece.found for piece in pieces)
        yield LeadNumber(value=f"{found} of {declared}", words="runs are there")
