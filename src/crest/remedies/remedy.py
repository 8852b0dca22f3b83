"""What one remedy is: a value that says what it does to a model and to its training batches, and what it needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from torch import Tensor, nn

from crest._base.arguments import require, require_choice
from crest._base.doors import door
from crest.background import kinds_of
from crest.nuisances.separated import NAMES
from crest.strangers.signature import names_mask, require_valid_steps, step_argument

FrontMaker: TypeAlias = Callable[..., nn.Module]
"""Makes a layer for signals, called with `channels_first=`. The layer takes signals, and a mask if it has such an argument."""
ChangeMaker: TypeAlias = Callable[..., Callable[..., Tensor]]
"""Makes a change of the signals of a batch, called with `generator=` and `channels_first=`."""
PoolingChange: TypeAlias = Literal["trained", "re-anchored"]
"""CREST in the place of the pooling: trained with the model, or on the trained features with the head fitted again."""


@door
@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What a remedy does to a trained model, what it needs, and one sentence about it.

    Example:
        >>> from crest.remedies import REMEDIES
        >>> REMEDIES["AC coupling"].front(channels_first=True)
        HighPass('level', channels_first=True)
        >>> REMEDIES["re-anchored"].needs_fit, REMEDIES["CREST"].needs_pooling
        (False, True)
    """

    sentence: str = ""
    """What it does, for people: messages and manual show it."""
    front: FrontMaker | None = None
    """What stands in front of the model, in training and in the field."""
    change: ChangeMaker | None = None
    """What is done to the batches in training."""
    pooling: PoolingChange | None = None
    """What is done to the pooling."""
    balanced: bool = False
    """Whether training rows are drawn so that target and condition are untied: `balanced_batches`. It needs conditions."""
    against: tuple[str, ...] = ()
    """The nuisances that it answers, of `crest.nuisances.NAMES`."""
    judged_on: str | None = None
    """A kind of background, as in `crest.background.split`; None for most. A remedy that trains with the very separation of the
    exchange test looks too good there. `crest.repair` tests it with whole backgrounds of this kind exchanged too, and the larger
    of the two errors is its expected error. That test does not see everything: slow backgrounds have no gain, colour or tones,
    periodic ones have no gain or colour. So "exchange of gain" and "exchange of colour", which train with that separation too, have
    None, and their expected error may be too low."""
    usual: bool = True
    """Whether `crest.repair` tries it by default."""
    measured: bool = False
    """Whether the kept records compare it with the others: `crest report remedies`."""
    key: str | None = None
    """How the file of a study spells it; None if a study has no such remedy, as CREST is a readout there."""
    front_name: str | None = None
    """Of `crest.remedies.REMEDIES`, if its front is the front of a known remedy with another name. `crest.repair` finds it."""

    def __post_init__(self) -> None:
        if self.pooling is not None:
            require_choice("pooling", self.pooling, ("trained", "re-anchored"))
        for name in self.against:
            require_choice("against", name, NAMES)
        if self.judged_on is not None:
            kinds_of(self.judged_on, "judged_on")
        require("balanced", self.balanced, "be True or False")
        if not self.needs_fit and (self.front or self.change or self.balanced):
            raise ValueError(
                "front, change and balanced must be left out with pooling='re-anchored', which trains nothing but the head"
            )

    @property
    def needs_fit(self) -> bool:
        """Whether the model must be trained with it."""
        return self.pooling != "re-anchored"

    @property
    def needs_conditions(self) -> bool:
        """Whether the operating condition of each training trajectory must be known."""
        return self.balanced

    @property
    def needs_pooling(self) -> bool:
        """Whether the place where the model pools must be known."""
        return self.pooling is not None


def mask_argument(function: Callable[..., Any]) -> str | None:
    """The name of the argument by which a layer or function for signals takes a mask of valid steps; None if it takes none.

    Example:
        >>> mask_argument(lambda x, mask: x), mask_argument(lambda x, scale=2: x), mask_argument(nn.ReLU())
        ('mask', None, None)
    """
    name = step_argument(function)
    if not names_mask(name):
        return None
    require_valid_steps(name)
    return name
