"""How CREST finds the event core: the run-up that is left out, residuals, their budget, and the steps that it has room for."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from crest._base.arrays import Features, PerProfile, Pooled, Selection, StepMask, valid_steps
from crest.background.selection import RANKING_TIE, dilate, selected_count, top_steps
from crest.background.slow import Background
from crest.background.transience import (
    RESIDUAL_FLOOR,
    from_first_step,
    shifted_transience,
    transience_profile,
)
from crest.readouts.base import Readout
from crest.readouts.budget import contrast_weight, event_budget, width_and_tail
from crest.readouts.config import CrestConfig
from crest.readouts.fast import LARGEST_SIGMA, serves
from crest.readouts.fast.fused import Chosen, Residuals, choose_steps, residuals_of
from crest.readouts.run_up import (
    LONGEST,
    LOOKED_AT,
    RunUp,
    end_profile,
    free_to_ask,
    may_show,
    without_run_up,
)
from crest.readouts.running import RunningBudget


class Marked(NamedTuple):
    """Selected steps of each channel in plain torch, with what they were found in: it is pooled, too."""

    flags: Selection
    """(B, T, D): True where a channel selects a step."""
    shifted: Features
    """The features less their first valid step, with gradients."""
    first: Pooled
    """That step (B, D)."""

    def steps(self) -> Selection:
        """(B, T, D): True where a channel selects a step."""
        return self.flags


class FoundCore(NamedTuple):
    """A `Core`, with its steps as the backend keeps them, and the valid steps without the run-up."""

    selected: Chosen | Marked
    alpha: Tensor
    epsilon: PerProfile
    width: PerProfile
    tail: PerProfile
    run_up: Tensor
    inside: StepMask | None


class CoreFinder(Readout):
    """What `CrestReadout` does before it pools. Options, checks and doors are those of `CrestReadout`."""

    budget: str | float
    direction: str
    alpha: float | None
    split: bool
    background: str
    stride: int
    config: CrestConfig
    running: RunningBudget | None
    run_up: RunUp | None
    _residual_from: Background
    _left_out: tuple[int, int]

    def _compiled(self, features: Tensor) -> bool:
        """Whether the compiled operators do what these options ask for, on these features."""
        usual = self.background == "slow" and self.direction == "transient" and not self.split
        return usual and self._sigma <= LARGEST_SIGMA and serves(features)

    @torch.no_grad()
    def _residuals(self, series: Features, mask: StepMask | None, lines: int = 0) -> Residuals:
        config = self.config
        return residuals_of(
            series, mask, sigma=self._sigma, floor=RESIDUAL_FLOOR, delta=config.delta, lines=lines
        )

    @torch.no_grad()
    def _transience(self, shifted: Features, mask: StepMask | None) -> Features:
        return shifted_transience(shifted, mask, self._sigma, self.config.delta, self._residual_from)

    @property
    def _sigma(self) -> float:
        """Of the low-pass, in steps of the features: at least one, below which it would leave nothing."""
        return max(self.config.sigma / self.stride, 1.0) if self.stride > 1 else self.config.sigma

    @torch.no_grad()
    def _inside(
        self, series: Features, mask: StepMask | None, run_up: Tensor | None
    ) -> tuple[StepMask | None, Tensor]:
        """The valid steps without the run-up at the ends, and how many steps that has (2,)."""
        if run_up is None and self.run_up is not None:
            run_up = self.run_up.steps
        if run_up is None:
            steps, nothing = series.new_tensor(self._left_out), self._left_out == (0, 0)
        else:
            steps = run_up.to(series.dtype)
            # Masks cost time: none is made where there is nothing to leave out.
            asked = (self.validate or free_to_ask(steps)) and not torch.compiler.is_compiling()
            nothing = asked and not steps.any()
        if nothing:
            return mask, steps
        # What somebody gives is taken as given; what was found is held below a quarter of each trajectory.
        longest = 1.0 if self.run_up is None else LONGEST
        return without_run_up(valid_steps(mask, series[..., 0]), steps, longest), steps

    def _find(
        self, series: Features, valid: StepMask | None, observe: bool, run_up: Tensor | None = None
    ) -> FoundCore:
        """What is selected, and the valid steps without the run-up."""
        # `no_grad` stops reverse mode alone: forward mode would carry tangents through budget and alpha.
        detached = series.detach()
        residuals = self._look(detached, valid) if observe else None
        mask, left_out = self._inside(detached, valid, run_up)
        if self._compiled(series):
            if residuals is None or mask is not valid:
                residuals = self._residuals(detached, mask)
            chosen, alpha, why = self._select(residuals, residuals.profile.unsqueeze(1), mask, observe)
            return FoundCore(chosen, alpha, *why, left_out, mask)
        # Once for ranking and pooling. The one takes no gradients, the other does.
        shifted, first = from_first_step(series, mask)
        transience = self._transience(shifted.detach(), mask)
        parts = [transience[..., start::2] for start in (0, 1)] if self.split else [transience]
        profile = torch.stack([transience_profile(part) for part in parts], dim=1)
        ranking = profile.transpose(1, 2) if self.split else transience
        flags, alpha, why = self._select(ranking, profile, mask, observe)
        if self.split:
            other_half = (torch.arange(series.shape[2], device=series.device) + 1) % 2
            flags, alpha = flags[..., other_half], alpha[:, other_half]
        return FoundCore(Marked(flags, shifted, first), alpha, *why, left_out, mask)

    @torch.no_grad()
    def _select(
        self, ranking: Residuals | Tensor, profile: Tensor, mask: StepMask | None, observe: bool
    ) -> tuple[Any, Tensor, tuple[Tensor, Tensor, Tensor]]:
        """The steps that the budget has room for, their contrast weight, and the budget with its width and tail."""
        budget = self._budget(profile, mask, observe)
        epsilon = budget[0]
        fixed = self.alpha
        alpha = contrast_weight(epsilon, self.config) if fixed is None else torch.full_like(epsilon, fixed)
        return self._ranked(ranking, epsilon, mask), alpha, budget

    @torch.no_grad()
    def _look(self, series: Features, valid: StepMask | None) -> Residuals | None:
        """Look for a run-up; the residuals over all valid steps, where compiled code finds them on the way."""
        # In eager code a batch of few is not even looked at: it does not count.
        if self.run_up is None or not (torch.compiler.is_compiling() or may_show(series)):
            return None
        if torch.compiler.is_compiling() or not self._compiled(series) or self.run_up.steps.any():
            self.run_up.observe(*end_profile(series, valid, self._sigma, self.config.delta))
            return None
        residuals = self._residuals(series, valid, lines=min(len(series), LOOKED_AT))
        self.run_up.observe(residuals.line_profile, None if valid is None else valid[:LOOKED_AT])
        return residuals

    def _ranked(self, ranking: Residuals | Tensor, epsilon: Tensor, mask: StepMask | None) -> Any:
        """The steps that the budget has room for, widened: as the operators keep them, or as flags."""
        dilation = -(-self.config.dilation // self.stride)
        T = ranking.profile.shape[1] if isinstance(ranking, Residuals) else ranking.shape[1]
        steps = torch.full_like(epsilon, T) if mask is None else mask.sum(1, keepdim=True)
        count = selected_count(epsilon, steps, dilation)
        # No step without a residual counts as transient, however large the budget.
        if isinstance(ranking, Residuals):
            count = count.minimum(ranking.above).clamp(min=1)
            return choose_steps(
                ranking, count, mask, floor=RESIDUAL_FLOOR, tie=RANKING_TIE, dilation=dilation
            )
        if self.direction == "stable":
            ranking = -ranking
        else:
            count = count.minimum((ranking > 0).sum(1)).clamp(min=1)
        return dilate(top_steps(ranking, count, mask), dilation, mask)

    def _budget(self, profile: Tensor, mask: StepMask | None, observe: bool) -> tuple[Tensor, Tensor, Tensor]:
        valid = None if mask is None else mask.unsqueeze(1)
        width, tail = width_and_tail(profile, valid, self.config.delta)
        if self.running is not None:
            if observe:
                self.running.observe(width, tail, mask)
            pooled_width, pooled_tail = self.running(width, tail)
            return event_budget(pooled_width, pooled_tail, self.config), width, tail
        if isinstance(self.budget, str):
            return event_budget(width, tail, self.config), width, tail
        return torch.full_like(width, self.budget), width, tail
