"""How a repaired model differs in its build from the model that was given: a filter in front, another pooling."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from torch import nn

from crest._base.doors import door
from crest._base.plain_json import read_json
from crest.readouts.crest import CrestReadout
from crest.remedies.front import WithFront
from crest.remedies.reanchored import BudgetChoice
from crest.remedies.registry import REMEDIES
from crest.strangers.implant import implant_readout
from crest.strangers.interface import Interface
from crest.strangers.replacing import replace_pooling
from crest.strangers.slot import Layout


@door
@dataclass(frozen=True, kw_only=True)
class Structure:
    """What a repair changed in the build of a model; its weights are apart.

    Example:
        >>> structure = Structure(front="AC coupling")
        >>> structure.build(nn.Flatten()).front
        HighPass('level')
        >>> Structure.read(structure.written()) == structure
        True
    """

    front: str | None = None
    """The name of the remedy whose front stands before the model."""
    channels_first: bool = False
    """Whether the model takes signals (B, C, T)."""
    pooling: str | None = None
    """The path where CREST stands."""
    layout: Layout | None = None
    """How the layer there is called."""
    keepdim: bool | None = None
    """Whether it keeps a time axis of length one."""
    budget: BudgetChoice = "pooled"
    """CREST's budget."""
    stride: int = 1
    """Input steps for each step of the features, in which CREST's constants count."""
    interface: Interface | None = None
    """Between which layers CREST stands, if a line of `forward` pooled."""

    def build(self, model: nn.Module, fronts: Mapping[str, nn.Module] | None = None) -> nn.Module:
        """The model, built so; it is changed in place.

        Args:
            model: as it was given to `crest.repair`.
            fronts: the user's own fronts, by the names of their remedies.
        """
        if self.pooling is not None:
            readout = CrestReadout(self.budget, stride=self.stride)
            replace_pooling(
                model, self.pooling, readout, layout=self.layout, keepdim=self.keepdim, warn=False
            )
        if self.interface is not None:
            implant_readout(model, CrestReadout(self.budget, stride=self.stride), self.interface)
        if self.front is None:
            return model
        return WithFront(self._made_front(self.front, fronts or {}), model).train(model.training)

    def _made_front(self, name: str, fronts: Mapping[str, nn.Module]) -> nn.Module:
        if name in fronts:
            return fronts[name]
        known = REMEDIES.get(name)
        if known is None or known.front is None:
            raise ValueError(
                f"fronts must have {name!r}, the layer of your own in front of the repaired model, got "
                f"{', '.join(fronts) or 'none'}"
            )
        return known.front(channels_first=self.channels_first)

    def written(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    @door
    def read(cls, text: str) -> "Structure":
        """What `written` wrote.

        Raises:
            ValueError: For another text.
        """
        try:
            fields = read_json(text)
            if fields.get("interface") is not None:
                fields["interface"] = Interface.read(fields["interface"])
            return cls(**fields)
        except (AttributeError, KeyError, ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"text must be what Structure.written wrote: {error}") from error
