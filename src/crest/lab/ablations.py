"""The paper's ablations of CREST: stable instead of transient steps, and sample splitting."""

from typing import Any, Literal

import torch
from torch import Tensor

from crest._base.arguments import require_choice
from crest._base.arrays import Features, StepFlags, StepMask
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
    plain,
)
from crest.readouts.crest import CheckedFeatures, FoundCore, StepBudget
from crest.readouts.fast import fused


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

    def _find(self, series: CheckedFeatures, *, observe: bool, run_up: Tensor | None = None) -> FoundCore:
        found = super()._find(series, observe=observe, run_up=run_up)
        if not self.split:
            return found
        alpha = found.budget.alpha[:, self._other_half(series.values)]
        return found._replace(budget=found.budget._replace(alpha=alpha))

    def _profiles(self, residuals: fused.Residuals | plain.ResidualParts) -> Tensor:
        if not self.split or isinstance(residuals, fused.Residuals):
            return super()._profiles(residuals)
        return torch.cat([self._halves(part) for part in residuals.parts])

    def _choose(
        self, residuals: fused.Residuals | plain.ResidualParts, budget: StepBudget, inside: StepMask | None
    ) -> fused.Chosen | plain.MarkedSteps:
        if not self._ablated or isinstance(residuals, fused.Residuals):
            return super()._choose(residuals, budget, inside)
        transience = torch.cat(residuals.parts)
        # A half is ranked by its profile, since it selects for channels that are not its own.
        ranking = self._halves(transience).transpose(1, 2) if self.split else transience
        if self.direction == "stable":
            flags = top_steps(-ranking, budget.wanted, inside)
        else:
            flags = top_steps(ranking, budget.wanted, inside, positive=True)
        flags = dilate(flags, self._dilation, inside)
        return plain.marked_steps([flags[..., self._other_half(transience)] if self.split else flags])

    @staticmethod
    def _halves(transience: Features) -> Tensor:
        """(B, 2, T): the profiles of the even and of the odd channels."""
        return torch.stack([transience_profile(transience[..., start::2]) for start in (0, 1)], dim=1)

    @staticmethod
    def _other_half(features: Features) -> Tensor:
        """Of each channel, the half that it is not in."""
        return (torch.arange(features.shape[2], device=features.device) + 1) % 2


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
