"""The paper's claims, one by one, and which of our checks stand for each: in which setting, against which attention."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from crest.lab.evidence.names import named
from crest.lab.evidence.nearest import BEARINGS, DEFAULT, GEAR, IMPACT, RAW, RECURRENT, SEVERE
from crest.lab.evidence.severe import IN_SEVERE
from crest.lab.evidence.shown import Claim, Piece, Verdict

OWN_ATTENTION = named("attention")
"""The paper's own attention, a learned query's dot product."""
_RIVAL = f", attention being {OWN_ATTENTION}"
_FORMS = (OWN_ATTENTION, named("scored_attention"))
_WORST: tuple[Verdict, ...] = ("holds", "partly", "does not hold", "not measured")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PaperClaim:
    """A claim of the paper.

    Args:
        key: a short name.
        text: the claim in plain words.
        where: its place in the paper.
        check: the text of our check of it; `{form}` stands for a form of attention.
        place: system and encoder, if one of our settings may be nearer to the paper's than another; "" otherwise.
        of_baselines: whether it is about the errors by which the nearest setting is found. There it would be its own evidence, so it is
            judged in the default setting.
    """

    key: str
    text: str
    where: str
    check: str
    place: str = ""
    of_baselines: bool = False


PAPER_CLAIMS = (
    PaperClaim(
        key="dilution",
        text="Pooling dilutes the credit of sparse events, as the square of their share",
        where="Proposition 1",
        check="Pooling dilutes sparse-event credit: closed form and simulation agree, credit falls as epsilon squared",
    ),
    PaperClaim(
        key="saliency",
        text="Input saliency does not see which steps the readout uses",
        where="Corollary 1",
        check="Input saliency misses readout credit",
    ),
    PaperClaim(
        key="anchoring",
        text="More weight on the selected steps is always better if the selection beats chance",
        where="Proposition 2",
        check="The anchored event signal rises with the anchoring weight whenever the precision is above the event rate",
    ),
    PaperClaim(
        key="law",
        text="The best selector's risk is lowest if it selects as many steps as the event has",
        where="Theorem 1",
        check="The risk of the best selector is U-shaped in its budget, with the minimum at the event's length",
    ),
    PaperClaim(
        key="training",
        text="While attention trains, event credit rises, then falls below chance",
        where="Figure 2",
        check="While {form} trains, its event credit peaks early and then falls below chance",
        place=GEAR,
    ),
    PaperClaim(
        key="supervision",
        text="Telling attention the events halves its OOD error, but needs labels",
        where="Figure 3a",
        check="Supervision of the events raises the credit of {form} and lowers its OOD error, but needs labels",
        place=GEAR,
    ),
    PaperClaim(
        key="window",
        text="A shorter attention window does not move credit onto the events",
        where="Figure 3b",
        check="Shrinking the aggregation window does not move credit onto the events",
        place=GEAR,
    ),
    *(
        claim
        for name, place in (("SG-Drive", GEAR), ("Impact", IMPACT))
        for claim in (
            PaperClaim(
                key=f"error-{name}",
                text=f"{name}: CREST lowers the OOD error without labels",
                where="Table 1",
                check=f"CREST lowers the OOD error without labels, on every seed, on {name}",
                place=place,
            ),
            PaperClaim(
                key=f"id-{name}",
                text=f"{name}: CREST's ID error stays near attention's",
                where="Table 1",
                check=f"CREST's ID error stays near attention's on {name}",
                place=place,
            ),
            PaperClaim(
                key=f"credit-{name}",
                text=f"{name}: CREST doubles the event credit at least",
                where="Table 1, Main result",
                check=f"CREST at least doubles the event credit of {{form}} on {name}",
                place=place,
            ),
        )
    ),
    PaperClaim(
        key="guess-Impact",
        text="Impact: attention is worse than a guess out of distribution",
        where="Table 1",
        check="Attention does worse than a guess out of distribution on Impact",
        place=IMPACT,
        of_baselines=True,
    ),
    PaperClaim(
        key="everywhere",
        text="CREST lowers the OOD error with every system and encoder",
        where="Abstract, Figure 4",
        check="CREST lowers the OOD error in every system and encoder",
    ),
    PaperClaim(
        key="bearings",
        text="CWRU bearings: CREST lowers the error on the held-out load",
        where="Main result, Figure 4",
        check="CREST lowers the held-load error on CWRU",
        place=BEARINGS,
    ),
    PaperClaim(
        key="held-load",
        text="CWRU bearings: the held-out load breaks the smooth cue",
        where="Main result, assumed",
        check="The held load breaks the smooth cue",
    ),
    PaperClaim(
        key="recurrent-guess",
        text="SG-Drive, GRU: last state, ERM and group DRO are worse than a guess",
        where="Stronger baselines",
        check="With a GRU on SG-Drive, last state, ERM and group DRO do worse than a guess out of distribution",
        place=RECURRENT,
        of_baselines=True,
    ),
    PaperClaim(
        key="recurrent",
        text="SG-Drive, GRU: CREST is well below last state, ERM and group DRO",
        where="Stronger baselines",
        check="With a GRU on SG-Drive, CREST is well below last state, ERM and group DRO",
        place=RECURRENT,
    ),
    PaperClaim(
        key="groups",
        text="SG-Drive, GRU: group DRO repairs neither error nor credit",
        where="Stronger baselines",
        check="With a GRU on SG-Drive, group DRO repairs neither the OOD error nor the event credit",
        place=RECURRENT,
    ),
    *(
        PaperClaim(
            key=f"{key}-{name}",
            text=f"{name}: {text}",
            where=where,
            check=check.format(name=name, form="{form}"),
            place=place,
        )
        for key, text, where, check in (
            (
                "physics",
                "a physics-informed residual does not remove the failure",
                "Introduction",
                "A physics-informed residual does not remove the failure on {name}",
            ),
            (
                "budget",
                "the OOD error is U-shaped in the budget",
                "Figure 5a",
                "The OOD error is U-shaped in the budget on {name}",
            ),
            (
                "bottom",
                "the adaptive budget is at the bottom of the U",
                "Figures 5a and 6",
                "The adaptive budget is within 10 % of the lowest error on the grid on {name}",
            ),
            (
                "stable",
                "selecting stable steps is the worst configuration",
                "Figure 5b",
                "Selecting stable steps is the worst configuration of the study on {name}",
            ),
            (
                "selected",
                "deleting the selected steps hurts CREST far more than attention's top steps hurt it",
                "Restored credit, Figure S1",
                "Deleting the selected steps hurts CREST at least five times as much as the top steps of {form} hurt it on {name}",
            ),
            (
                "events",
                "deleting the true events is almost free for attention",
                "Restored credit, Figure S1",
                "Deleting the true events is almost free for {form} on {name}",
            ),
            (
                "splitting",
                "sample splitting keeps the OOD error",
                "Limitations, Supplement",
                "Sample splitting leaves the OOD error of CREST on {name} as it is, within 10 %",
            ),
        )
        for name, place in (("SG-Drive", GEAR), ("Impact", IMPACT))
    ),
    PaperClaim(
        key="core-SG-Drive",
        text="SG-Drive: estimating the core changes nothing",
        where="Figure 6",
        check="Estimating the core leaves SG-Drive unchanged against the fixed automatic budget",
        place=GEAR,
    ),
    PaperClaim(
        key="core-Impact",
        text="Impact: estimating the core beats the fixed automatic budget",
        where="Figure 6",
        check="Estimating the core beats the fixed automatic budget on Impact",
        place=IMPACT,
    ),
    PaperClaim(
        key="reference-Impact",
        text="Impact: CREST is better than the readout that is told the events",
        where="Figure 6",
        check="CREST's OOD error on Impact is below that of the event window, which is told the events",
        place=IMPACT,
    ),
    PaperClaim(
        key="diffuse",
        text="CREST does not help if the target is diffuse",
        where="Limitations",
        check="CREST does not help where the target is diffuse (all teeth worn)",
    ),
    PaperClaim(
        key="on-event",
        text="CREST does not help if the cue is brief and sits on the event",
        where="Limitations",
        check="CREST does not help where the cue is transient and sits on the event",
    ),
)
"""In the order of the paper."""
WITHOUT_A_ROW = (
    "On recordings CREST's field error is below that of the stronger attention with every encoder",
    "On MIT-BIH more of CREST's credit is on the annotated beats than of either attention's, with every encoder",
    f"{IN_SEVERE}Attention does worse than a guess out of distribution on SG-Drive",
    "Mean, both forms of attention and CREST have converged at the end of the schedule",
)
"""Checks of what the paper says of other data, other encoders or nothing: they stand beyond the paper."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClaimCheck:
    """A check of ours in its piece, and what its cell says beside the number: the setting, if a cell has several."""

    piece: Piece
    claim: Claim
    label: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PaperRow:
    """A claim of the paper with our checks of it; a column without any has no check."""

    claim: PaperClaim
    own: tuple[ClaimCheck, ...]
    stronger: tuple[ClaimCheck, ...]
    severe: tuple[ClaimCheck, ...]
    severe_own: tuple[ClaimCheck, ...]
    judged: tuple[ClaimCheck, ...]
    """Against the stronger attention, in the setting that is nearest to the paper's, or else the default one."""
    setting: str
    """Where it is judged."""

    @property
    def verdict(self) -> Verdict:
        """The worst of what was judged."""
        return _worst(self.judged)

    @property
    def default_verdict(self) -> Verdict:
        """The same in the default setting, or with the bearings' raw windows."""
        return _worst(self.stronger[:1])

    @property
    def paper(self) -> str:
        """What the paper found."""
        return next((check.claim.paper for check in (*self.stronger, *self.own)), "")


def _worst(checks: Sequence[ClaimCheck]) -> Verdict:
    return max([check.claim.verdict for check in checks] or ["not measured"], key=_WORST.index)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NearestSetting:
    """The settings of a place: which is nearest to the paper's, by which factor each is off, and the stronger attention in each."""

    name: str
    off: Mapping[str, str]
    stronger: Mapping[str, str]


def nearest_settings(pieces: Mapping[str, Piece]) -> dict[str, NearestSetting]:
    """Which setting is nearest, by place; places whose runs are missing are left out."""
    found: dict[str, NearestSetting] = {}
    tables = pieces["nearest"].shown.tables if "nearest" in pieces else ()
    rows = [dict(zip(table.header, row, strict=True)) for table in tables for row in table.rows]
    for place in dict.fromkeys(row["place"] for row in rows):
        there = {row["setting"]: row for row in rows if row["place"] == place}
        name = next(name for name in there if name.endswith(" *"))
        found[place] = NearestSetting(
            name=name.removesuffix(" *"),
            off={setting.removesuffix(" *"): row["off by"] for setting, row in there.items()},
            stronger={
                setting.removesuffix(" *"): row["stronger attention"] for setting, row in there.items()
            },
        )
    return found


def paper_rows(pieces: Mapping[str, Piece]) -> tuple[PaperRow, ...]:
    """The paper's claims with our checks; none while a run is missing that tells which setting is nearest."""
    nearest = nearest_settings(pieces)
    if set(nearest) < {GEAR, IMPACT, RECURRENT, BEARINGS}:
        return ()
    checks = {
        claim.text: ClaimCheck(piece=piece, claim=claim)
        for piece in pieces.values()
        for claim in piece.shown.claims
    }
    return tuple(_row(claim, nearest.get(claim.place), checks) for claim in PAPER_CLAIMS)


def _row(claim: PaperClaim, nearest: NearestSetting | None, checks: Mapping[str, ClaimCheck]) -> PaperRow:
    stronger_forms = nearest.stronger if nearest is not None else {}
    usual = [setting for setting in stronger_forms if setting != SEVERE] or [DEFAULT]

    def found(settings: Iterable[str], rival: str) -> dict[str, ClaimCheck]:
        there = {
            setting: _texts(claim.check, setting, rival or stronger_forms.get(setting, ""), bool(rival))
            for setting in settings
        }
        return {setting: checks[text] for setting, text in there.items() if text in checks}

    stronger, severe = found(usual, ""), found([SEVERE], "")
    judged = stronger | severe
    near = nearest is not None and nearest.name in judged and not claim.of_baselines
    setting = nearest.name if nearest is not None and near else usual[0]
    return PaperRow(
        claim=claim,
        own=_labelled(found(usual, OWN_ATTENTION)),
        stronger=_labelled(stronger),
        severe=_labelled(severe),
        severe_own=_labelled(found([SEVERE], OWN_ATTENTION)),
        judged=(judged[setting],) if setting in judged else (),
        setting=setting,
    )


def _labelled(found: Mapping[str, ClaimCheck]) -> tuple[ClaimCheck, ...]:
    several = len(found) > 1
    return tuple(
        dataclasses.replace(check, label=setting if several else "") for setting, check in found.items()
    )


def _texts(template: str, setting: str, form: str, own: bool) -> str:
    """The text of a check in a setting, against a form of attention."""
    text = template.format(form=form)
    if setting == SEVERE:
        text = IN_SEVERE + text
    elif setting not in (DEFAULT, RAW):
        text = f"{text}, {setting}"
    return text if "{form}" in template or not own else text + _RIVAL


def row_of(text: str) -> PaperClaim | None:
    """The claim of the paper that a check is one of; None for a check of something else.

    Example:
        >>> row_of("In the severe setting: CREST's ID error stays near attention's on Impact").key
        'id-Impact'
    """
    if text in WITHOUT_A_ROW:
        return None
    for claim in PAPER_CLAIMS:
        for form in _FORMS:
            check = claim.check.format(form=form)
            if text.removeprefix(IN_SEVERE).removesuffix(_RIVAL) in (
                check,
                *(f"{check}, {setting}" for setting in _windows(claim)),
            ):
                return claim
    return None


def _windows(claim: PaperClaim) -> Sequence[str]:
    return ("standardised windows", "standardised windows, convolution") if claim.place == BEARINGS else ()


def beyond(pieces: Mapping[str, Piece]) -> tuple[ClaimCheck, ...]:
    """The checks of what the paper does not claim."""
    return tuple(
        ClaimCheck(piece=piece, claim=claim)
        for piece in pieces.values()
        for claim in piece.shown.claims
        if row_of(claim.text) is None
    )
