"""Encoders: signals (B, T, C) -> step features (B, S, D). To add one: a file, a line here, a test."""

from typing import Any

from crest._base.arguments import require_choice
from crest.lab.encoders.attention import AttentionEncoder
from crest.lab.encoders.base import WIDTH, Encoder
from crest.lab.encoders.cnn import CnnEncoder
from crest.lab.encoders.gru import GruEncoder
from crest.lab.encoders.local import LocalEncoder
from crest.lab.encoders.own import OWN, OwnEncoder, require_own
from crest.lab.encoders.patch import PatchEncoder
from crest.lab.encoders.pointwise import PointwiseEncoder
from crest.lab.encoders.residual import ResidualEncoder

ENCODERS: dict[str, type[Encoder]] = {
    "pointwise": PointwiseEncoder,
    "local": LocalEncoder,
    "gru": GruEncoder,
    "attention": AttentionEncoder,
    "cnn": CnnEncoder,
    "residual": ResidualEncoder,
    "patch": PatchEncoder,
}
"""Encoders by name."""

OWN_ENCODERS: dict[str, type[Encoder]] = {OWN: OwnEncoder}
"""Encoders that are the user's own code, by name."""


def make_encoder(name: str, channels: int, **options: Any) -> Encoder:
    """The encoder of that name for signals with `channels` channels.

    Example:
        >>> make_encoder("gru", 3).width
        32
    """
    encoders = {**ENCODERS, **OWN_ENCODERS}
    require_choice("encoder", name, encoders)
    return encoders[name](channels, **options)


__all__ = [
    "ENCODERS",
    "OWN",
    "OWN_ENCODERS",
    "WIDTH",
    "AttentionEncoder",
    "CnnEncoder",
    "Encoder",
    "GruEncoder",
    "LocalEncoder",
    "OwnEncoder",
    "PatchEncoder",
    "PointwiseEncoder",
    "ResidualEncoder",
    "make_encoder",
    "require_own",
]
