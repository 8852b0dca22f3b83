"""The remedies that a repair tries, by name, and what each does to a model and to its batches."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from crest._base.rng import torch_generator
from crest.remedies.augmentation import Augmentation
from crest.remedies.exchange import ExchangeBackground
from crest.remedies.jitter import JitterLevel
from crest.strangers.batch_forms import BatchForm, ChangedBatches


@dataclass(frozen=True, kw_only=True)
class Treatment:
    """What one remedy does.

    Example:
        >>> REPAIRS["AC coupling"].front, REPAIRS["CREST + exchange"].pooling
        ('level', True)
    """

    front: Literal["level", "slow"] | None = None
    """The background that is taken off in front of the model."""
    batches: Literal["jitter", "exchange", "core exchange"] | None = None
    """What is done to the batches in training."""
    pooling: bool = False
    """Whether CREST stands in the place of the pooling."""
    trains: bool = True
    """Whether the user's `fit` is needed; else the head is fitted again."""

    def change(
        self, train_batches: Iterable[Any], form: BatchForm, *, channels_first: bool, seed: int
    ) -> Iterable[Any]:
        """The batches to train on; each pass over them draws anew, and the seed repeats a run."""
        if self.batches is None:
            return train_batches
        numbers = torch_generator(seed, "repair/batches")
        augmentation: Augmentation
        if self.batches == "jitter":
            augmentation = JitterLevel(generator=numbers, channels_first=channels_first)
        else:
            kind = "slow" if self.batches == "exchange" else "core"
            augmentation = ExchangeBackground(kind, generator=numbers, channels_first=channels_first)

        def changed(batch: Any) -> Any:
            parts = form.parts(batch, "train_batches")
            return form.with_inputs(batch, augmentation(parts.inputs, parts.mask))

        return ChangedBatches(train_batches, changed)


REPAIRS: dict[str, Treatment] = {
    "re-anchored": Treatment(pooling=True, trains=False),
    "AC coupling": Treatment(front="level"),
    "high-pass": Treatment(front="slow"),
    "level jitter": Treatment(batches="jitter"),
    "exchange": Treatment(batches="exchange"),
    "core exchange": Treatment(batches="core exchange"),
    "CREST": Treatment(pooling=True),
    "CREST + exchange": Treatment(pooling=True, batches="exchange"),
}
"""Remedies that `crest.repair` knows, in this order."""
USUAL_REPAIRS = tuple(name for name in REPAIRS if name != "core exchange")
"""Those that it tries unless told. The core exchange trains on the separation that the rule measures with."""
