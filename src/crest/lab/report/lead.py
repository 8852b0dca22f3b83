"""What the page begins with: what it does for you in bars, one sentence and three numbers, as far as the pieces have them."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from crest._pages.panels import FirstScreen
from crest.lab.evidence.paper_claims import paper_rows
from crest.lab.evidence.shown import Chart, Comparison, Piece, Table
from crest.lab.report.helps import help_chart, help_sentences, help_table, helps_of

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
    """The first screen of the page.

    Args:
        sentence: what this is about.
        numbers: the largest letters.
        found: what became of field errors, in sentences.
        picture: the same as bars; without the pieces that know it, the chart of Figure 1.
        table: the same for every place.
        piece: the piece that the picture is taken from; "" for none.
        first: in the place of all this, if all pieces are studies of one's own.
    """

    sentence: str
    numbers: tuple[LeadNumber, ...]
    picture: Chart | None
    found: tuple[str, ...] = ()
    table: Table | None = None
    piece: str = ""
    first: FirstScreen | None = None


def lead_of(pieces: Sequence[Piece]) -> Lead:
    """The first screen of these pieces. A number whose runs are missing gives way to the next.

    Studies of one's own have a first screen each, and nothing else stands above them.

    Example:
        >>> lead_of([]).numbers
        ()
    """
    screens = {piece.name: piece.shown.first for piece in pieces if piece.shown.first is not None}
    if pieces and len(screens) == len(pieces):
        return Lead(sentence="", numbers=(), picture=None, first=_joined(screens))
    by_name = {piece.name: piece for piece in pieces}
    numbers = tuple([*_headline(by_name), *_places(by_name), *_held(by_name), *_runs(pieces)][:LEAD_NUMBERS])
    helps = helps_of(pieces)
    if helps:
        return Lead(
            sentence=SENTENCE,
            numbers=numbers,
            found=help_sentences(helps),
            picture=help_chart(helps),
            table=help_table(helps),
        )
    pictures = [
        (piece.name, chart) for piece in pieces for chart in piece.shown.charts if chart.name == "teaser"
    ]
    name, picture = pictures[0] if pictures else ("", None)
    return Lead(sentence=SENTENCE, numbers=numbers, picture=picture, piece=name)


def _joined(screens: Mapping[str, FirstScreen]) -> FirstScreen:
    """The findings of all studies, and of one alone its pictures; of several these stand at each study."""
    if len(screens) == 1:
        return next(iter(screens.values()))
    lines = (dataclasses.replace(line, of=name) for name, one in screens.items() for line in one.findings)
    return FirstScreen(findings=tuple(lines))


def _rows(pieces: Mapping[str, Piece], piece: str, table: str) -> list[dict[str, str]]:
    """The rows of a table by heading; none if it is missing."""
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


def _held(pieces: Mapping[str, Piece]) -> Iterator[LeadNumber]:
    """Of the paper's claims, if it is known where they are judged; else of all that was checked."""
    rows = paper_rows(pieces)
    verdicts = [row.verdict for row in rows] or [
        claim.verdict for piece in pieces.values() for claim in piece.shown.claims
    ]
    judged = [verdict for verdict in verdicts if verdict != "not measured"]
    if judged:
        kind = "of the paper's claims" if rows else "claims"
        words = f"{kind} hold; {judged.count('partly')} hold partly, {judged.count('does not hold')} do not"
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
