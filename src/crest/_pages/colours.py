"""The colours and symbols of charts: one per readout and per part, the same on the page and in pictures."""

from crest._base.arguments import require_choice

COLOURS = {
    # Okabe and Ito's colours, as far as they stand out on the white and on the dark page. Orange and sky blue are a
    # shade darker than theirs for that reason. Readouts beyond their eight colours have colours far from these.
    "attention": "#0072B2",
    "scored_attention": "#2E9BD6",
    "crest": "#D55E00",
    "mean": "#737373",
    "max": "#CC79A7",
    "last": "#009E73",
    "gated_attention": "#5A5AF0",
    "registers": "#8F5A2A",
    "windowed": "#486C48",
    "conjunctive": "#CC00A8",
    "event_window": "#C48400",
    # Events and what sees them have one colour, CREST and the core that it selects another.
    "event": "#C48400",
    "core": "#D55E00",
    "id": "#7A8B3C",
    "ood": "#8B4FC6",
    "credit": "#1F8A8C",
    "credit_mass": "#9A6FB0",
    "rating": "#4F7CAC",
    "background": "#B0475F",
    "crest_exchange": "#B23A86",
    "high_pass": "#3E8E41",
    "signal": "#5F6B7A",
    "reference": "#808080",
    "quiet": "#8C8C8C",
    "theory": "#B5569A",
    "other": "#6E7F91",
    "model_before": "#7A8794",
    "model_after": "#0B6FB3",
}
"""Colour keys of `Series` and `Mark`: one colour per meaning. Each has a contrast of three or more with both backgrounds
of the page."""

SYMBOLS = {
    "attention": "circle",
    "scored_attention": "square",
    "crest": "diamond",
    "mean": "triangle-up",
    "max": "triangle-down",
    "last": "cross",
    "gated_attention": "square",
    "registers": "circle",
    "windowed": "triangle-up",
    "conjunctive": "x",
    "event_window": "star",
    "ood": "square",
    "core": "diamond",
    "theory": "x",
    "background": "x",
    "crest_exchange": "star",
    "high_pass": "triangle-up",
    "credit_mass": "triangle-down",
}
"""Shapes of points, in plotly's words; a circle for other keys. Close colours differ in shape."""


def colour(key: str) -> str:
    """The colour of a key.

    Example:
        >>> colour("crest")
        '#D55E00'
    """
    require_choice("colour", key, COLOURS)
    return COLOURS[key]


def faded(key: str, opacity: float) -> str:
    """The colour of a key with an opacity, in CSS notation.

    Example:
        >>> faded("crest", 0.2)
        'rgba(213, 94, 0, 0.2)'
    """
    red, green, blue = (int(colour(key)[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"
