"""The paper's claims in the words of README, manual and report: how many hold, each in a row, and what decides it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from crest.lab.evidence.names import named
from crest.lab.evidence.paper_claims import (
    OWN_ATTENTION,
    ClaimCheck,
    PaperRow,
    beyond,
    nearest_settings,
    paper_rows,
)
from crest.lab.evidence.shown import Piece, Table

ClaimPieces = Mapping[str, Piece]

MATTER = ("everywhere", "bearings", "events-SG-Drive")
"""Claims that the front names if they do not hold: what someone who takes CREST for a model of their own must know."""
PAPER_HEADER = (
    "claim",
    "paper",
    "against its own attention",
    "against the stronger one",
    "in the severe setting",
    "verdict",
)
_BAR_HEADER = ("claim", "holds if", "seeds", "shown by")
_BEYOND_HEADER = ("claim", "found", "holds if", "seeds", "shown by", "verdict")


def count_of(rows: Sequence[PaperRow]) -> str:
    """How many of the paper's claims hold, in a sentence."""
    counts = Counter(row.verdict for row in rows)
    unknown = f"; {counts['not measured']} are not measured" if counts["not measured"] else ""
    return (
        f"Of the paper's {len(rows)} claims, {counts['holds']} hold here, {counts['partly']} hold in part and "
        f"{counts['does not hold']} do not{unknown}."
    )


def count_in_full(rows: Sequence[PaperRow]) -> str:
    """The same, and how many would hold if all were judged in the default setting."""
    counts = Counter(row.default_verdict for row in rows)
    return (
        f"{count_of(rows)} Judged in the default setting alone, {counts['holds']} would hold, {counts['partly']} in part and "
        f"{counts['does not hold']} not."
    )


def first_claims(pieces: ClaimPieces) -> str:
    """How many of the paper's claims hold, and the few that a user must know if they do not."""
    rows = paper_rows(pieces)
    if not rows:
        return "The runs that the claims are judged by are not all there."
    by_key = {row.claim.key: row for row in rows}
    named_here = [by_key[key] for key in MATTER if by_key[key].verdict != "holds"]
    matter = "\n".join(_told(row) for row in named_here)
    return f"{count_of(rows)} Those that matter and do not hold, or only in part:\n\n{matter}"


def not_holding(pieces: ClaimPieces) -> str:
    """The paper's claims that do not hold, one line for each."""
    rows = [row for row in paper_rows(pieces) if row.verdict == "does not hold"]
    return "\n".join(_told(row) for row in rows) or "- None."


def _told(row: PaperRow) -> str:
    found = "; ".join(_brief(check) for check in row.judged) or "nothing yet"
    setting = f", {row.setting}" if row.claim.place else ""
    return f"- {row.claim.text}: {found} ({row.verdict}{setting}). Paper: {row.paper}."


def nearest_text(pieces: ClaimPieces) -> str:
    """Two sentences: which of our settings is nearest to the paper's for each system, and how near."""
    found = nearest_settings(pieces)
    if not found:
        return "The runs that tell which setting is nearest are not there."
    first = ", ".join(f"**{one.name}** for {place}" for place, one in found.items())
    second = "; ".join(
        f"{place} {one.off[one.name]} ({', '.join(f'{name} {off}' for name, off in one.off.items() if name != one.name)})"
        for place, one in found.items()
    )
    return (
        f"By the errors that the paper publishes of its baselines alone, the nearest of our settings is {first}. "
        f"There our baselines' errors are off by a factor of (in brackets: in the other settings): {second}."
    )


def paper_table(rows: Sequence[PaperRow]) -> Table:
    """A row for each claim of the paper: what it found, what we found against which attention and where, and the verdict."""
    return Table(
        name="paper",
        caption="Each cell is judged by the bar of its claim. The verdict is that against the stronger attention, in the setting nearest to the "
        "paper's if the claim was tested there, else in the default one.",
        header=PAPER_HEADER,
        rows=tuple(
            (
                f"{number}. {row.claim.text} ({row.claim.where})",
                row.paper,
                _cell(row.own),
                _cell(row.stronger),
                _severe_cell(row),
                f"{row.verdict} ({row.setting})" if row.claim.place else row.verdict,
            )
            for number, row in enumerate(rows, start=1)
        ),
    )


def bar_table(rows: Sequence[PaperRow]) -> Table:
    """What decides each claim of the paper, on how many seeds, and what shows it."""
    return Table(
        name="bars",
        caption="",
        header=_BAR_HEADER,
        rows=tuple(
            (
                str(number),
                "; ".join(dict.fromkeys(check.claim.bar for check in row.judged)) or "-",
                "; ".join(dict.fromkeys(_seeds(check) for check in row.judged)) or "-",
                ", ".join(dict.fromkeys(f"`{check.piece.report_command}`" for check in _every(row))),
            )
            for number, row in enumerate(rows, start=1)
        ),
    )


def beyond_table(checks: Sequence[ClaimCheck]) -> Table:
    """What was claimed here beyond the paper, and what was found."""
    return Table(
        name="beyond",
        caption="",
        header=_BEYOND_HEADER,
        rows=tuple(
            (
                check.claim.text,
                check.claim.measured or "not measured",
                check.claim.bar or "-",
                _seeds(check),
                f"`{check.piece.report_command}`",
                check.claim.verdict,
            )
            for check in checks
        ),
    )


def beyond_text(pieces: ClaimPieces) -> str:
    """How many of the claims beyond the paper hold, in a sentence."""
    counts = Counter(check.claim.verdict for check in beyond(pieces))
    return (
        f"Of {counts.total()} claims beyond the paper, {counts['holds']} hold, {counts['partly']} hold in part and "
        f"{counts['does not hold']} do not."
    )


def _every(row: PaperRow) -> tuple[ClaimCheck, ...]:
    return (*row.stronger, *row.severe)


def _seeds(check: ClaimCheck) -> str:
    return "-" if check.claim.seeds is None else str(check.claim.seeds)


def _brief(check: ClaimCheck) -> str:
    found = check.claim.brief or check.claim.measured or "not measured"
    return f"{check.label}: {found}" if check.label else found


def _cell(checks: Sequence[ClaimCheck]) -> str:
    return "; ".join(f"{_brief(check)} ({check.claim.verdict})" for check in checks)


def _severe_cell(row: PaperRow) -> str:
    """What was found against the stronger attention, and against the paper's own if that has another verdict."""
    verdicts = {check.claim.verdict for check in row.severe}
    other = [check for check in row.severe_own if check.claim.verdict not in verdicts]
    own = f"; {named(OWN_ATTENTION)}: {_cell(other)}" if other else ""
    return _cell(row.severe) + own
