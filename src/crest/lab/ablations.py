"""The paper's ablations of CREST: stable instead of transient steps, and sample splitting."""

from typing import Any, Literal

import torch
from torch import Tensor

from crest._base.arguments import require_choice
from crest._base.arrays import Features, Selection, StepFlags, StepMask
from crest._base.doors import door_leaving
from crest.background.transience import dilate, top_steps, transience_profile
from crest.readouts import (
    READOUTS,
    REFERENCES,
    CrestConfig,
    CrestReadout,
    EventReadout,
    Readout,
    make_readout,
)
from crest.readouts.crest import CheckedFeatures, StepBudget


@door_leaving("config")
class AblatedCrestReadout(CrestReadout):
    """CREST with what the paper takes away from it or adds to it; with the defaults of both, CREST itself.

    Args:
        budget: this and all that is not named here is as in `CrestReadout`.
        direction: "transient" selects the steps with the largest residual, "stable" those with the smallest.
        alpha: as in `CrestReadout`.
        split: sample splitting. Odd channels are pooled over the steps that the even channels' profile
            selects, and the reverse, so that no channel's noise selects itself.
        background: as in `CrestReadout`.
        run_up: as in `CrestReadout`.
        stride: as in `CrestReadout`.
        config: as in `CrestReadout`.
        validate: as in `CrestReadout`.

    Example:
        >>> AblatedCrestReadout(0.1, split=True).select(torch.randn(2, 64, 4)).epsilon.shape
        torch.Size([2, 2])
    """

    # Spelled out in this order: a record's parameters and the ids of published runs follow from the signature.
    def __init__(
        self,
        budget: Literal["pooled", "trajectory"] | float = "pooled",
        *,
        direction: Literal["transient", "stable"] = "transient",
        alpha: float | None = None,
        split: bool = False,
        background: str = "slow",
        run_up: Literal["auto"] | int | tuple[int, int] = "auto",
        stride: int = 1,
        config: CrestConfig | None = None,
        validate: bool = True,
    ) -> None:
        super().__init__(
            budget,
            alpha=alpha,
            background=background,
            run_up=run_up,
            stride=stride,
            config=config,
            validate=validate,
        )
        require_choice("direction", direction, ("transient", "stable"))
        self.direction = direction
        self.split = split

    def extra_repr(self) -> str:
        """What differs from the defaults, for `print(model)`."""
        parts = [super().extra_repr()]
        parts += ["direction='stable'"] if self.direction == "stable" else []
        parts += ["split=True"] if self.split else []
        return ", ".join(parts)

    @property
    def _ablated(self) -> bool:
        return self.split or self.direction == "stable"

    def _compiled(self, features: Tensor) -> bool:
        return not self._ablated and super()._compiled(features)

    def _checked_series(self, features: Features, mask: StepFlags | None) -> CheckedFeatures:
        series = super()._checked_series(features, mask)
        if self.split and features.shape[-1] < 2:
            raise ValueError("split=True needs at least two channels in features, got 1")
        return series

    def _marked(
        self, transience: Features, resolution: Tensor, inside: StepMask | None, *, observe: bool
    ) -> tuple[Selection, StepBudget]:
        if not self._ablated:
            return super()._marked(transience, resolution, inside, observe=observe)
        parts = [transience[..., start::2] for start in (0, 1)] if self.split else [transience]
        profiles = torch.stack([transience_profile(part) for part in parts], dim=1)
        budget = self._budget(profiles, inside, observe=observe)
        # A half is ranked by its profile, since it selects for channels that are not its own.
        ranking = profiles.transpose(1, 2) if self.split else transience
        if self.direction == "stable":
            flags = top_steps(-ranking, budget.wanted, inside)
        else:
            flags = top_steps(ranking, budget.wanted.minimum((ranking > 0).sum(1)).clamp(min=1), inside)
        flags = dilate(flags, self._dilation, inside)
        if self.split:
            other_half = (torch.arange(transience.shape[2], device=transience.device) + 1) % 2
            flags, budget = flags[..., other_half], budget._replace(alpha=budget.alpha[:, other_half])
        return flags, budget


LAB_READOUTS: dict[str, type[Readout] | type[EventReadout]] = {
    **READOUTS,
    **REFERENCES,
    "crest": AblatedCrestReadout,
}
"""What a run can name, with the options that it can have."""


def make_lab_readout(name: str, width: int, **options: Any) -> Readout | EventReadout:
    """`crest.make_readout`, and CREST with its ablations if the options ask for one.

    Example:
        >>> type(make_lab_readout("crest", 8)).__name__, type(make_lab_readout("crest", 8, split=True)).__name__
        ('CrestReadout', 'AblatedCrestReadout')
    """
    ablated = name == "crest" and not {"direction", "split"}.isdisjoint(options)
    return AblatedCrestReadout(**options) if ablated else make_readout(name, width, **options)
