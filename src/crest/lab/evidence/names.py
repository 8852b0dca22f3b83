"""How tables, charts and the explorer call systems and readouts."""

READOUT_NAMES = {
    "attention": "attention (dot)",
    "scored_attention": "attention (MLP)",
    "gated_attention": "gated attention",
    "crest": "CREST",
    "event_window": "event window",
}
"""Readouts whose key says too little."""
SYSTEM_NAMES = {"gear": "SG-Drive", "impact": "Impact", "cwru": "CWRU"}


def named(readout: str) -> str:
    """A readout in words.

    Example:
        >>> named("crest"), named("mean")
        ('CREST', 'mean')
    """
    return READOUT_NAMES.get(readout, readout)
