"""The model under study: encoder, readout, linear head."""

from typing import Any

import torch
from torch import Tensor, nn

from crest._base import rng
from crest._base.arguments import require
from crest._base.arrays import Answers, Counts, EventMask, Pooled, Signals, StridedFeatures
from crest.lab.ablations import make_lab_readout
from crest.lab.encoders import OWN, Encoder, make_encoder
from crest.probes import events_at
from crest.readouts import EventReadout, Readout


class Standardize(nn.Module):
    """Shift and scale each channel by its mean and standard deviation in the training signals.

    Example:
        >>> layer = Standardize(1).fit(torch.tensor([[[1.0], [3.0]]]))
        >>> layer(torch.tensor([[[3.0]]])).item()
        1.0
    """

    shift: Tensor
    scale: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(channels))
        self.register_buffer("scale", torch.ones(channels))

    def fit(self, x: Signals) -> "Standardize":
        """Take mean and standard deviation from these signals; a channel that does not vary is only shifted."""
        varies = x.amax((0, 1)) > x.amin((0, 1))  # rounding in the mean gives a constant some spread
        self.shift.copy_(x.mean((0, 1)))
        self.scale.copy_(torch.where(varies, x.std((0, 1), correction=0), 1))
        return self

    def forward(self, x: Signals) -> Signals:
        """The signals in units of the training set."""
        return (x - self.shift) / self.scale


class Model(nn.Module):
    """Encoder, readout and linear head: signals (B, T, C) -> one number per trajectory, or logits (B, K).

    The pooling interface is open: `features` gives what the readout pools and `pool` what it returns, which
    is what the probe asks for.

    Args:
        encoder: gives the step features.
        readout: pools them; one that sees events (`EventReadout`) makes `events` a necessary argument.
        front: a layer for the signals on their way to the encoder, such as a filter.
        outputs: of the head: one for labels that are numbers, K for those of K classes.

    Example:
        >>> model = make_model("pointwise", "mean", channels=3, seed=1000)
        >>> model(torch.zeros(4, 16, 3)).shape
        torch.Size([4])
        >>> make_model("pointwise", "mean", channels=3, seed=1000, outputs=2)(torch.zeros(4, 16, 3)).shape
        torch.Size([4, 2])
    """

    def __init__(
        self,
        encoder: Encoder,
        readout: Readout | EventReadout,
        front: nn.Module | None = None,
        outputs: int = 1,
    ) -> None:
        require("outputs", outputs, "be a whole number, 1 or more")
        super().__init__()
        self.standardize = Standardize(encoder.channels)
        self.front = front or nn.Identity()
        self.encoder = encoder
        self.readout = readout
        self.head = nn.Linear(encoder.width, outputs)

    def features(self, x: Signals) -> StridedFeatures:
        """Step features (B, S, D): what the readout pools; S is T if the encoder has no stride."""
        features: Tensor = self.encoder(self.front(self.standardize(x)))
        return features

    def pool(self, features: StridedFeatures, events: EventMask | None = None) -> Pooled:
        """What the readout returns (B, D); the events are those of the signals (B, T)."""
        if isinstance(self.readout, EventReadout):
            if events is None:
                raise ValueError(
                    f"events must be given to {type(self.readout).__name__}: it pools the events"
                )
            return self.readout(features, events_at(events, features.shape[1]))  # type: ignore[no-any-return]
        return self.readout(features)  # type: ignore[no-any-return]

    @property
    def outputs(self) -> int:
        """Outputs of the head: 1, or as many as there are classes."""
        return self.head.out_features

    def read(self, pooled: Pooled) -> Answers:
        """The head's predictions for pooled vectors."""
        answer: Tensor = self.head(pooled).squeeze(-1)
        return answer

    def forward(self, x: Signals, events: EventMask | None = None) -> Answers:
        """The model's prediction for each trajectory."""
        return self.read(self.pool(self.features(x), events))


def answered_class(answers: Answers) -> Counts | None:
    """The class that logits (B, K) predict, (B,); None if predictions are numbers.

    Example:
        >>> answered_class(torch.tensor([[0.1, 2.0], [3.0, 0.2]])), answered_class(torch.zeros(2))
        (tensor([1, 0]), None)
    """
    return answers.argmax(1) if answers.ndim == 2 else None


def make_model(
    encoder: str,
    readout: str,
    *,
    channels: int,
    seed: int,
    encoder_options: dict[str, Any] | None = None,
    readout_options: dict[str, Any] | None = None,
    front: nn.Module | None = None,
    outputs: int = 1,
) -> Model:
    """A model whose encoder and head start from the seed alone, whatever the readout.

    Behind an encoder of your own, CREST counts steps of the signals by default; its option `stride` overrides that.

    Example:
        >>> a, b = (make_model("gru", name, channels=2, seed=1000) for name in ("mean", "attention"))
        >>> torch.equal(a.encoder.layer.weight_ih_l0, b.encoder.layer.weight_ih_l0)
        True
    """
    with rng.scope(seed, f"encoder/{encoder}"):
        made = make_encoder(encoder, channels, **(encoder_options or {}))
    options = dict(readout_options or {})
    if encoder == OWN and readout == "crest":
        # The stride is known only after the trial.
        options.setdefault("stride", made.stride)
    with rng.scope(seed, "readout"):
        pooling = make_lab_readout(readout, made.width, **options)
    with rng.scope(seed, "head"):
        return Model(made, pooling, front, outputs)
