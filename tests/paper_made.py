"""What the tests of the paper's claims share: every check of the catalog with a verdict, and which setting is nearest."""

import dataclasses
import functools

from crest.lab.evidence import CATALOG
from crest.lab.evidence.shown import Claim, Piece, Shown, Table, Verdict
from evidence_made import shown

HEADER = ("place", "setting", "off by", "stronger attention")
NEAREST = (
    ("SG-Drive", "default *", "1.1 times", "attention (MLP)"),
    ("SG-Drive", "severe", "3.0 times", "attention (dot)"),
    ("Impact", "default", "2.0 times", "attention (MLP)"),
    ("Impact", "severe *", "1.1 times", "attention (MLP)"),
    ("SG-Drive, GRU", "default", "3.0 times", ""),
    ("SG-Drive, GRU", "severe *", "1.0 times", ""),
    ("CWRU, held load", "raw windows", "3.0 times", "attention (MLP)"),
    ("CWRU, held load", "standardised windows *", "1.2 times", "attention (MLP)"),
    ("CWRU, held load", "standardised windows, convolution", "6.0 times", "attention (MLP)"),
)


@functools.cache
def every_check() -> dict[str, Claim]:
    """The checks of the catalog, not measured, by their text."""
    return {
        claim.text: claim for one in CATALOG.values() for claim in shown(one, without=lambda _: True).claims
    }


def pieces(
    verdicts: dict[str, Verdict] | None = None, rows: tuple[tuple[str, ...], ...] = NEAREST
) -> dict[str, Piece]:
    """All checks of the catalog, which hold unless told otherwise, and which setting is nearest."""
    told = verdicts or {}
    claims = tuple(
        dataclasses.replace(claim, measured="so", bar="a bar", seeds=5, verdict=told.get(claim.text, "holds"))
        for claim in every_check().values()
    )
    usual = {"evidence": "", "summary": "", "found": 1, "declared": 1, "command": "crest run some"}
    nearest = Shown(tables=(Table(name="nearest", caption="", header=HEADER, rows=rows),))
    return {
        "some": Piece(name="some", shown=Shown(claims=claims), **usual),
        "nearest": Piece(name="nearest", shown=nearest, **usual),
    }
