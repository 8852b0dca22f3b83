"""Encoders of the lab in several sizes, signals for them, and which steps a feature depends on."""

from typing import Any

import torch
from torch import Tensor

from crest._base import rng
from crest.lab.encoders import ENCODERS, Encoder, make_encoder

CHANNELS = 3


VARIANTS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ENCODERS},
    "pointwise-wide": {"width": 5, "hidden": 7},
    "local-short": {"width": 5, "hidden": 7, "kernel": 3},
    "gru-narrow": {"width": 5},
    "attention-deep": {"width": 12, "layers": 2, "heads": 3, "hidden": 11},
    "attention-first": {"positions": "sinusoidal", "final_norm": False},
    "attention-normed": {"width": 9, "heads": 3, "layers": 2, "positions": "sinusoidal"},
    "attention-unplaced": {"width": 9, "heads": 3, "positions": "none", "final_norm": False},
    "cnn-narrow": {"width": 5, "first": 7, "second": 6},
}


def build(variant: str, seed: int = 1000) -> Encoder:
    with rng.scope(seed, "encoder"):
        return make_encoder(variant.partition("-")[0], CHANNELS, **VARIANTS[variant])


def signals(batch: int = 4, steps: int = 40, dtype: torch.dtype = torch.float64) -> Tensor:
    draw = torch.Generator().manual_seed(7)
    return torch.randn(batch, steps, CHANNELS, generator=draw, dtype=torch.float64).to(dtype)


def seen_steps(encoder: Encoder, step: int, steps: int = 40) -> list[int]:
    """The steps that the feature of one step depends on."""
    x = signals(2, steps).requires_grad_()
    weights = torch.randn(encoder.width, dtype=torch.float64)
    (encoder.double()(x)[0, step] * weights).sum().backward()
    assert x.grad is not None
    assert (x.grad[1] == 0).all()
    return x.grad[0].ne(0).any(-1).nonzero().flatten().tolist()
