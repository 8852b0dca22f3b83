"""How the panels of a first screen become places and words: what its template calls."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import markupsafe

from crest._pages.drawing import Scale, band_path, dot_path, line_path, scale_of
from crest._pages.panels import BarPanel, CurvePanel, CurveView, ScatterPanel, TracePanel

# Okabe and Ito's colours, mixed with the ink of the theme so that each stands out on white and on dark.
_GROUPS = ("#0b6fb3", "#d55e00", "#2f9e6e", "#a8547f", "#b58900", "#6b7785")
_CALL = re.compile(
    r"\b(?:crest|repaired)\.[\w.]+(?:\((?:[^()]|\([^()]*\))*\))?|\b(?:invariant|conditions|fit|id_error)=(?:\([^()]*\))?"
)


def screen_names() -> dict[str, Callable[..., Any]]:
    """The functions that the template of the first screen needs, by name."""
    return {
        "band_path": band_path,
        "bar_form": bar_form,
        "bar_scale": bar_scale,
        "curve_scale": curve_scale,
        "curve_words": curve_words,
        "dot_path": dot_path,
        "dot_scale": dot_scale,
        "even_ticks": even_ticks,
        "group_colour": group_colour,
        "kind_of": lambda panel: type(panel).__name__,
        "line_path": line_path,
        "placed": placed,
        "shown": shown_number,
        "strand_scale": strand_scale,
        "time_ticks": time_ticks,
    }


def shown_number(value: float) -> str:
    """A number with three digits or fewer.

    Example:
        >>> shown_number(0.0), shown_number(0.934), shown_number(1234.5), shown_number(-0.0004)
        ('0.00', '0.93', '1.23e+03', '−0.0004')
    """
    plain = 0.005 <= abs(value) < 100 or value == 0
    return (f"{value:.2f}" if plain else f"{value:.3g}").replace("-0", "−0").replace("-", "−", value < 0)


def bar_form(panel: BarPanel) -> Callable[[float], str]:
    """How the numbers of a panel are written: with as many digits as three of the largest need.

    Example:
        >>> from crest._pages.panels import PanelBar, BarRow
        >>> rows = (BarRow(name="a", bars=(PanelBar(value=0.1562),)), BarRow(name="b", bars=(PanelBar(value=1e-7),)))
        >>> form = bar_form(BarPanel(title="", rows=rows, models=("",)))
        >>> form(0.1562), form(1e-7)
        ('0.156', '0.000')
    """
    most = max([abs(bar.value) for row in panel.rows for bar in row.bars if bar is not None], default=0.0)
    digits = 2 - math.floor(math.log10(most)) if most > 0 else 2
    if not 0 <= digits <= 5 or most >= 1e4:
        return shown_number
    return lambda value: f"{value:.{digits}f}".replace("-", "−")


def bar_scale(panel: BarPanel) -> Scale:
    """From 0 to the largest number, interval or line."""
    bars = [bar for row in panel.rows for bar in row.bars if bar is not None]
    ends = [end for bar in bars for end in (bar.value, bar.high)]
    return scale_of([*ends, panel.line], least=panel.least, from_zero=True)


def dot_scale(panel: ScatterPanel) -> Scale:
    """One for both axes and all views, so that the line of what is right is the diagonal."""
    return scale_of([end for view in panel.views for dot in view.dots for end in (dot.x, dot.y)])


def strand_scale(panel: TracePanel) -> Scale:
    """One for all lines."""
    return scale_of([value for strand in panel.strands for value in strand.values])


def curve_scale(view: CurveView) -> Scale:
    """From 0 to the largest number or the line."""
    return scale_of([*(value for curve in view.curves for value in curve.values), view.line], from_zero=True)


def placed(scale: Scale) -> list[tuple[float, str]]:
    """The ticks of a scale as percents and texts.

    Example:
        >>> placed(Scale(0.0, 2.0))
        [(0.0, '0'), (25.0, '0.5'), (50.0, '1.0'), (75.0, '1.5'), (100.0, '2.0')]
    """
    return [(scale.percent(value), text) for value, text in scale.ticks]


def even_ticks(texts: Sequence[str]) -> list[tuple[float, str]]:
    """Texts at places of the same distance.

    Example:
        >>> even_ticks(["a", "b", "c"])
        [(0.0, 'a'), (50.0, 'b'), (100.0, 'c')]
    """
    return [(round(100 * place / max(len(texts) - 1, 1), 2), text) for place, text in enumerate(texts)]


def time_ticks(panel: TracePanel) -> list[tuple[float, str]]:
    """Round times below the lines."""
    steps = max(len(strand.values) for strand in panel.strands)
    return placed(Scale(0.0, max((steps - 1) * panel.step, panel.step)))


def curve_words(view: CurveView, panel: CurvePanel) -> str:
    """A view of response curves as a sentence, for who does not see it."""
    told = "; ".join(
        (f"{curve.model}: " if curve.model else "")
        + ", ".join(
            f"{tick} {shown_number(value)}" for tick, value in zip(view.ticks, curve.values, strict=True)
        )
        for curve in view.curves
    )
    return f"{view.title}, {panel.unit}. {told}"


def group_colour(place: int, groups: int) -> str:
    """The colour of a group in CSS; from seven groups on they are steps between two colours.

    Example:
        >>> group_colour(1, 2), group_colour(9, 10)
        ('#d55e00', 'color-mix(in oklab, #0b6fb3 0%, #e07b00)')
    """
    if groups <= len(_GROUPS):
        return _GROUPS[place]
    return f"color-mix(in oklab, #0b6fb3 {round(100 - 100 * place / (groups - 1))}%, #e07b00)"


def with_code(sentence: str) -> markupsafe.Markup:
    """A sentence as HTML in which what is typed in Python looks like it.

    Example:
        >>> with_code('Try <b>: crest.HighPass("level").')
        Markup('Try &lt;b&gt;: <code>crest.HighPass(&#34;level&#34;)</code>.')
    """
    made, last = markupsafe.Markup(), 0
    for call in _CALL.finditer(sentence):
        made += markupsafe.escape(sentence[last : call.start()])
        made += markupsafe.Markup("<code>{}</code>").format(call[0].rstrip("."))
        last = call.start() + len(call[0].rstrip("."))
    return made + markupsafe.escape(sentence[last:])
