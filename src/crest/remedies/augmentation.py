"""What augmentations of a batch share: active in training only, for layers and for the collate function of a loader."""

import abc
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import default_collate, get_worker_info

from crest._base.arguments import require
from crest._base.arrays import Signals, StepMask, channels_first_of
from crest._base.doors import door
from crest._base.tensors import as_signals


@door
class Augmentation(nn.Module, abc.ABC):
    """Signals in, changed signals out, in training mode; the identity in evaluation mode. Labels stay.

    Args:
        probability: of each row to be changed.
        generator: draws the random numbers; without one, torch's own state does. Set it to repeat a run.
        channels_first: for signals (B, C, T) instead of (B, T, C).
    """

    def __init__(
        self,
        *,
        probability: float = 0.5,
        generator: torch.Generator | None = None,
        channels_first: bool = False,
    ) -> None:
        super().__init__()
        require("probability", probability, "lie in [0, 1]")
        require("channels_first", channels_first, "be True or False")
        self.probability = probability
        self.generator = generator
        self.channels_first = channels_first

    @abc.abstractmethod
    def augment(self, signals: Signals, mask: StepMask | None, generator: torch.Generator | None) -> Signals:
        """The changed signals, of the same dtype; what stands on padding stays."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The signals, changed in training mode. The mask is (B, T), True on valid steps."""
        if not self.training:
            return x
        signals, valid = as_signals("x", x, mask, channels_first=self.channels_first)
        # Every worker of a loader has a copy of the generator, made anew in each epoch: all would draw the same
        # numbers again and again. Torch's own state is seeded by the loader for each worker and epoch.
        working = not torch.compiler.is_compiling() and get_worker_info() is not None
        generator = None if working else self.generator
        changed = self.augment(signals, valid, generator)
        return channels_first_of(changed) if self.channels_first else changed

    def collate(
        self,
        collate_fn: Callable[[list[Any]], Any] = default_collate,
        *,
        key: str = "x",
        mask: str | int | None = None,
    ) -> "Collation":
        """A collate function for a `DataLoader`: batches as `collate_fn` makes them, with the signals changed.

        A batch is a tensor, a tuple or list whose first entry is the signals, or a dict with the signals under `key`.
        Everything else in it stays. Give it to the loader of training data only: a worker process has a copy of this
        module in the mode in which the loader found it.

        In worker processes torch's own state draws, which the loader seeds for each worker and epoch: to repeat a run,
        set the loader's generator.

        Args:
            collate_fn: makes a batch of a list of examples.
            key: where the signals are, if the batch is a dict.
            mask: where the mask (B, T) is, if there is one: a key of the dict, or a place in the tuple.

        Example:
            >>> from crest.remedies import JitterLevel
            >>> examples = [(torch.zeros(4, 1), 0.0), (torch.ones(4, 1), 1.0)]
            >>> loader = torch.utils.data.DataLoader(examples, batch_size=2, collate_fn=JitterLevel().collate())
            >>> next(iter(loader))[1]
            tensor([0., 1.], dtype=torch.float64)
        """
        return Collation(self, collate_fn, key, mask)

    def extra_repr(self) -> str:
        """The options, for `print(model)`."""
        return f"probability={self.probability}" + (", channels_first=True" if self.channels_first else "")


@door
class Collation:
    """A collate function whose batches pass an augmentation; `Augmentation.collate` makes it.

    It can be pickled. The copy has no generator: torch cannot send one to a worker that is spawned, and no worker
    would use it.
    """

    def __init__(
        self,
        augmentation: Augmentation,
        collate_fn: Callable[[list[Any]], Any],
        key: str,
        mask: str | int | None,
    ) -> None:
        self.augmentation = augmentation
        self.collate_fn = collate_fn
        self.key = key
        self.mask = mask

    def __call__(self, examples: list[Any]) -> Any:
        """The batch of these examples, with its signals changed."""
        batch = self.collate_fn(examples)
        if isinstance(batch, Tensor):
            return self.augmentation(batch)
        if isinstance(batch, Mapping):
            if self.key not in batch:
                names = ", ".join(map(str, batch))
                raise ValueError(f"key must be one of the batch's keys, {names}; got {self.key!r}")
            return {**batch, self.key: self.augmentation(batch[self.key], self._mask_in(batch))}
        if not isinstance(batch, tuple | list) or not batch:
            got = type(batch).__name__
            raise ValueError(f"collate_fn must give a tensor, a tuple, a list or a dict, got {got}")
        parts = [self.augmentation(batch[0], self._mask_in(batch)), *batch[1:]]
        named = isinstance(batch, tuple) and hasattr(batch, "_fields")
        return type(batch)(*parts) if named else type(batch)(parts)

    def __getstate__(self) -> dict[str, Any]:
        augmentation = copy.copy(self.augmentation)
        augmentation.generator = None
        return {**vars(self), "augmentation": augmentation}

    def _mask_in(self, batch: Mapping[Any, Any] | Sequence[Any]) -> Tensor | None:
        if self.mask is None:
            return None
        try:
            found: Tensor = batch[self.mask]  # type: ignore[index]
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"mask must name a part of the batch, got {self.mask!r}") from error
        return found
