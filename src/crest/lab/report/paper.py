"""The pieces as a paper: sections with their verdicts, figures with captions beside the text, small tables. Needs reportlab."""

import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import matplotlib as mpl
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import Flowable, Image, KeepTogether, Paragraph, SimpleDocTemplate, Spacer, TableStyle
from reportlab.platypus import Table as Grid

from crest._base.files import whole_file
from crest.lab.evidence.shown import Chart, Claim, Piece, Table
from crest.lab.report.lead import Lead, lead_of
from crest.lab.report.pictures import picture

PAPER_TITLE = "Where pooled models read, and what CREST changes"
MOST_PRINTED_ROWS = 16
"""Rows of the longest table that is printed; longer ones are on the page."""
BESIDE = 5
"""How many claims stand beside a figure; the others follow below."""
_MARGIN, _GAP = 18 * mm, 5 * mm
# Six points on each side are reportlab's own.
_WIDTH = A4[0] - 2 * _MARGIN - 12
_LEFT = 0.46 * _WIDTH
_DOTS = 170
_INK, _LINE = HexColor("#1B1F24"), HexColor("#B9BEC5")
_VERDICTS = {"holds": "#1A7F37", "partly": "#9A6700", "does not hold": "#B42318", "not measured": "#57606A"}


def write_paper(pieces: Sequence[Piece], path: Path) -> None:
    """Write the pieces to one PDF: what they show in short, then a section for each."""
    if not any(piece.shown.claims or piece.shown.tables or piece.shown.charts for piece in pieces):
        raise ValueError(
            f"pieces must hold a claim, a table or a chart to make pages of, got {len(pieces)} without"
        )
    _fonts()
    story = _opening(pieces)
    for number, piece in enumerate(pieces, 1):
        story += _section(number, piece)
    with whole_file(path) as file:
        SimpleDocTemplate(
            file,
            pagesize=A4,
            leftMargin=_MARGIN,
            rightMargin=_MARGIN,
            topMargin=_MARGIN,
            bottomMargin=_MARGIN,
            title=PAPER_TITLE,
            creator="crest",
        ).build(story, onFirstPage=_number, onLaterPages=_number)


def _fonts() -> None:
    """Matplotlib's own fonts: they have the minus, the plus-minus and the Greek letters that PDF's do not."""
    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    for name, file in (("Text", "DejaVuSerif"), ("Text-Bold", "DejaVuSerif-Bold"), ("Cells", "DejaVuSans")):
        pdfmetrics.registerFont(TTFont(name, str(folder / f"{file}.ttf")))
    pdfmetrics.registerFontFamily(
        "Text", normal="Text", bold="Text-Bold", italic="Text", boldItalic="Text-Bold"
    )


def _style(size: float, **changes: object) -> ParagraphStyle:
    usual = {"fontName": "Text", "fontSize": size, "leading": 1.32 * size, "textColor": _INK, "spaceAfter": 3}
    return ParagraphStyle("crest", **{**usual, **changes})


def _words(text: str, size: float = 8, **changes: object) -> Paragraph:
    return Paragraph(text, _style(size, **changes))


def _opening(pieces: Sequence[Piece]) -> list[Flowable]:
    lead = lead_of(pieces)
    verdicts = Counter(claim.verdict for piece in pieces for claim in piece.shown.claims)
    counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    opening: list[Flowable] = [
        _words(f"<b>{escape(PAPER_TITLE)}</b>", 17, spaceAfter=8),
        _words(escape(lead.sentence), 9.5, spaceAfter=6),
        *_numbers(lead),
        _words(f"Of {verdicts.total()} claims: {escape(counted)}." if verdicts else "", 9, spaceAfter=8),
    ]
    if lead.picture is not None:
        opening.append(KeepTogether(_figure(lead.picture, _WIDTH, columns=2)))
    return opening


def _numbers(lead: Lead) -> list[Flowable]:
    """The numbers in large letters, side by side."""
    if not lead.numbers:
        return []
    cells = [
        [_words(f"<b>{escape(one.value)}</b>", 15, spaceAfter=2), _words(escape(one.words), 7.5)]
        for one in lead.numbers
    ]
    return [Grid([cells], colWidths=[_WIDTH / len(cells)] * len(cells), style=_plain()), Spacer(0, 6)]


def _section(number: int, piece: Piece) -> list[Flowable]:
    """A heading, the claims beside the first figure, then what is left of claims, figures, tables and notes."""
    incomplete = (
        "" if piece.found >= piece.declared else f" Incomplete: {piece.found} of {piece.declared} runs."
    )
    heading = [
        Spacer(0, 8),
        _words(f"<b>{number}  {escape(piece.summary)}</b>", 11, spaceAfter=2),
        _words(
            f"{escape(piece.evidence)}. <font name='Courier'>{escape(piece.command)}</font>.{incomplete}", 7.5
        ),
    ]
    claims = [_claim(claim) for claim in piece.shown.claims]
    # The picture that the paper opens with is not shown twice.
    charts = [chart for chart in piece.shown.charts if chart.name != "teaser"]
    beside = charts[0] if charts and len(charts[0].panels) <= 2 and claims else None
    if beside is None:
        story: list[Flowable] = [KeepTogether([*heading, *claims[:1]]), *claims[1:]]
    else:
        right = _figure(beside, _WIDTH - _LEFT - _GAP, columns=1)
        row = Grid(
            [[claims[:BESIDE], right]], colWidths=[_LEFT + _GAP, _WIDTH - _LEFT - _GAP], style=_plain()
        )
        story = [KeepTogether([*heading, row]), *claims[BESIDE:]]
    story += [KeepTogether(_figure(chart, _WIDTH, columns=2)) for chart in charts if chart is not beside]
    for table in piece.shown.tables:
        story += _table(piece, table)
    return story + [_words(escape(note), 7.5) for note in piece.shown.notes]


def _claim(claim: Claim) -> Paragraph:
    seeds = "" if claim.seeds is None else f", {claim.seeds} seed{'' if claim.seeds == 1 else 's'}"
    p = "" if claim.p is None else f", p = {claim.p:.2g}"
    found = f" Found: {escape(claim.measured)}{seeds}{p}." if claim.measured else ""
    return _words(
        f"<font color='{_VERDICTS[claim.verdict]}'><b>{claim.verdict.capitalize()}.</b></font> {escape(claim.text)}. "
        f"Paper: {escape(claim.paper)}.{found}",
        7.5,
    )


def _figure(chart: Chart, width: float, columns: int) -> list[Flowable]:
    """The chart with its caption below, no wider than this and no higher than most of a page."""
    if columns > 1 and len(chart.panels) == 1:
        width *= 0.6  # one panel over the whole page would shout
    drawn = picture(chart, columns=columns, captioned=False)
    content = io.BytesIO()
    drawn.savefig(content, format="png", dpi=_DOTS)
    content.seek(0)
    inches_wide, inches_high = drawn.get_size_inches()
    high = width * inches_high / inches_wide
    shrink = min(1.0, 0.6 * A4[1] / high)
    image = Image(content, width=shrink * width, height=shrink * high)
    return [image, _words(escape(chart.caption), 7, spaceAfter=6)]


def _table(piece: Piece, table: Table) -> list[Flowable]:
    if len(table.rows) > MOST_PRINTED_ROWS:
        told = f"Table {table.name}, {len(table.rows)} rows: {table.caption} It is on the page: {piece.report_command}."
        return [_words(escape(told), 7)]
    size = 6.2 if len(table.header) <= 9 else 5.2
    rows = [[_cell(cell, size) for cell in row] for row in (table.header, *table.rows)]
    grid = Grid(rows, colWidths=_widths(table, size), repeatRows=1, style=_ruled(), hAlign="LEFT")
    return [KeepTogether([_words(escape(table.caption), 7), grid, Spacer(0, 6)])]


def _cell(text: str, size: float) -> Paragraph:
    return _words(escape(text), size, fontName="Cells", leading=1.2 * size, spaceAfter=0)


def _widths(table: Table, size: float) -> list[float]:
    """As wide as the longest cell, all of them narrowed alike where the page is too narrow."""
    padding = 6
    wanted = [
        max(pdfmetrics.stringWidth(row[column], "Cells", size) for row in (table.header, *table.rows))
        + padding
        for column in range(len(table.header))
    ]
    return [width * min(1.0, _WIDTH / sum(wanted)) for width in wanted]


def _plain() -> TableStyle:
    return TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (0, -1), 0)])


def _ruled() -> TableStyle:
    padding = [(f"{side}PADDING", (0, 0), (-1, -1), 1.5) for side in ("TOP", "BOTTOM", "LEFT", "RIGHT")]
    rules = [("LINEBELOW", (0, 0), (-1, 0), 0.8, _INK), ("LINEBELOW", (0, 1), (-1, -1), 0.3, _LINE)]
    return TableStyle([*padding, *rules, ("VALIGN", (0, 0), (-1, -1), "TOP")])


def _number(canvas: object, document: object) -> None:
    """The number of the page at its foot."""
    canvas.setFont("Text", 7.5)  # type: ignore[attr-defined]
    canvas.drawCentredString(A4[0] / 2, 0.55 * _MARGIN, str(document.page))  # type: ignore[attr-defined]
