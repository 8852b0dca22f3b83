"""How tables, charts and the explorer call systems, readouts and encoders."""

READOUT_NAMES = {
    "attention": "attention (dot)",
    "scored_attention": "attention (MLP)",
    "gated_attention": "gated attention",
    "crest": "CREST",
    "event_window": "event window",
}
"""Readouts whose key says too little."""
SYSTEM_NAMES = {
    "gear": "SG-Drive",
    "impact": "Impact",
    "cwru": "CWRU",
    "hitsm": "HIT-SM",
    "mitbih": "MIT-BIH",
    "sisfall": "SisFall",
}
ENCODER_NAMES = {
    "pointwise": "pointwise",
    "local": "convolution",
    "gru": "GRU",
    "attention": "Transformer",
    "cnn": "CNN",
    "residual": "residual CNN",
    "patch": "patch Transformer",
}


def named(key: str) -> str:
    """A readout or a system in words; other words stay as they are.

    Example:
        >>> named("crest"), named("mean"), named("gear")
        ('CREST', 'mean', 'SG-Drive')
    """
    return READOUT_NAMES.get(key) or SYSTEM_NAMES.get(key, key)
