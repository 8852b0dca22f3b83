"""CREST: select transient steps channel by channel, pool their contrast with the rest."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from crest.arrays import (
    Features,
    PerProfile,
    Pooled,
    Profile,
    Selection,
    StepCounts,
    StepFlags,
    StepMask,
    StepScores,
    at_least_float32,
    valid_steps,
)
from crest.background.selection import RANKING_TIE, dilate, selected_count, top_steps, vote_count
from crest.background.separation import background_of
from crest.background.transience import RESIDUAL_FLOOR, channel_transience, transience_profile
from crest.checks.arguments import obeys, require, require_choice
from crest.ops import LARGEST_SIGMA, serves
from crest.ops.fused import Chosen, Residuals, choose_steps, pool_chosen, residuals_of
from crest.readouts.base import Readout, checked_inputs
from crest.readouts.budget import contrast_weight, event_budget, otsu_tail, participation_width
from crest.readouts.config import CrestConfig
from crest.readouts.means import contrast, masked_means, share_over_steps
from crest.readouts.run_up import (
    LONGEST,
    LOOKED_AT,
    RunUp,
    both_ends,
    end_profile,
    enough_for_a_run_up,
    free_to_ask,
    may_show,
    run_up_steps,
    without_run_up,
)
from crest.readouts.running import RunningBudget


class Core(NamedTuple):
    """What CREST selected and why. Groups G: one, or the two halves of the channels in sample splitting."""

    selected: Selection
    """M (B, T, D): the steps of each channel."""
    alpha: Tensor
    """(B, 1 or D): the contrast weight that each channel is pooled with."""
    epsilon: PerProfile
    """(B, G): the budget, as a fraction of the valid steps."""
    width: PerProfile
    """(B, G): the participation width b of each trajectory's own profile."""
    tail: PerProfile
    """(B, G): the Otsu tail of each trajectory's own profile."""
    run_up: Tensor
    """(2,): steps at the start and at the end that were left out as the encoder's own."""


class _Found(NamedTuple):
    """A `Core`, with its steps as the backend keeps them, and the valid steps without the run-up."""

    selected: Selection | Chosen
    alpha: Tensor
    epsilon: PerProfile
    width: PerProfile
    tail: PerProfile
    run_up: Tensor
    inside: StepMask | None

    def core(self) -> Core:
        """With the steps as flags."""
        selected = self.selected.steps() if isinstance(self.selected, Chosen) else self.selected
        return Core(selected, self.alpha, self.epsilon, self.width, self.tail, self.run_up)


class CrestReadout(Readout):
    """Label-free, training-free readout that re-anchors pooling on a transient event core (Algorithm 1).

    No parameters. Gradients flow through the pooled features only, never through selection and budget, which
    are computed in float32 at least.

    Args:
        budget: how the event fraction is found. "trajectory": from each trajectory's own profile, as the
            paper's text has it. "pooled": width and tail are averaged over the batch and kept as a running
            average over training batches, frozen in evaluation and saved in the `state_dict`; until a first
            training batch was seen, evaluation uses each trajectory's own. In distributed training each
            process moves its own and the first one's are broadcast, as batch normalisation does it. A
            number in (0, 1]: fixed.
        direction: "transient" selects the steps with the largest residual, "stable" those with the smallest
            (the paper's ablation).
        alpha: a fixed contrast weight in [0, 1] instead of the one that follows from the budget.
        split: sample splitting. Odd channels are pooled over the steps that the even channels' profile
            selects, and the reverse, so that no channel's noise selects itself.
        background: what a step's residual is taken from, a kind of `crest.background.split`: the paper's "slow", or
            "periodic+slow" where a machine runs or positions ripple through the features, which costs hundreds of times more
            and does not compile or export.
        run_up: steps at the start, or at the start and the end, that are left out: a recurrent state runs up
            there, a convolution sees padding. "auto" finds them in training batches of 8 and more, and in
            `calibrate`, as a transience that every trajectory shows at its first or last steps: an average over
            batches, at most a quarter of a trajectory at either end. Give 0 where every trajectory begins with its
            event, as in a hammer test. A trajectory that would have no step left is pooled whole.
        stride: inputs per feature step of the encoder: `sigma` and `dilation` then count steps of the inputs; the low-pass
            has one step of the features at least.
        config: the constants.
        validate: see `Readout`.

    Example:
        >>> features = 0.01 * torch.randn(8, 256, 16)
        >>> features[:, 100:104] += 1.0
        >>> readout = CrestReadout()
        >>> readout(features).shape, int(readout.votes(features)[0].argmax()) in range(98, 106)
        (torch.Size([8, 16]), True)
    """

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
        super().__init__(validate=validate)
        named = isinstance(budget, str) and budget in ("pooled", "trajectory")
        if not named and not obeys(budget, "lie in (0, 1]"):
            raise ValueError(f"budget must be 'pooled', 'trajectory' or a number in (0, 1], got {budget!r}")
        require_choice("direction", direction, ("transient", "stable"))
        if alpha is not None:
            require("alpha", alpha, "lie in [0, 1]")
        if config is not None and not isinstance(config, CrestConfig):
            raise ValueError(f"config must be a CrestConfig, got {type(config).__name__}")
        self._residual_from = background_of(background, name="background")
        require("stride", stride, "be a whole number, 1 or more")
        self.background = background
        self.stride = stride
        self.budget = budget
        self.direction = direction
        self.alpha = alpha
        self.split = split
        self.config = config or CrestConfig()
        self.running = RunningBudget(self.config.momentum) if budget == "pooled" else None
        self.run_up = RunUp(self.config.momentum) if run_up == "auto" else None
        self._left_out = (0, 0) if run_up == "auto" else both_ends(run_up)

    def forward(self, features: Features, mask: StepFlags | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero where no step is valid."""
        series, valid = self._series(features, mask)
        found = self._select(series, valid, observe=self.training)
        if isinstance(found.selected, Chosen):
            pooled = pool_chosen(series, found.selected, found.alpha, found.inside)
        else:
            pooled = contrast(masked_means(series, found.selected, found.inside), found.alpha)
        return pooled.to(features.dtype)

    def select(self, features: Features, mask: StepFlags | None = None) -> Core:
        """The selected steps with their budget, as a `Core`; changes no running average.

        `select(features).epsilon` at `config.epsilon_max` (0.3) says that no sharp event core was found.
        """
        return self._select(*self._series(features, mask), observe=False).core()

    def votes(self, features: Features, mask: StepFlags | None = None) -> StepCounts:
        """How many channels chose each step (B, T): where the event is, for free. Padding gets none."""
        return vote_count(self.select(features, mask).selected)

    def profile(self, features: Features, mask: StepFlags | None = None) -> Profile:
        """How transient each step is (B, T), over all channels: what is ranked; 0 on padding and in the run-up."""
        series, valid = self._series(features, mask)
        inside = self._inside(series, valid, None)[0]
        if self._compiled(series):
            return self._residuals(series, inside).profile
        return transience_profile(self._transience(series, inside))

    def step_weights(self, features: Features, mask: StepFlags | None = None) -> StepScores:
        """Absolute weight of each step in the pooled vector, averaged over channels, as a share.

        The rest enters with a negative sign, so a step outside the core can have a share too.
        """
        series, valid = self._series(features, mask)
        found = self._select(series, valid, observe=False)
        core, steps = found.core(), found.inside
        present = valid_steps(steps, series[..., 0]).unsqueeze(-1).to(core.alpha.dtype)
        inside = core.selected * present
        alpha = core.alpha.unsqueeze(1)
        weights = alpha * (share_over_steps(inside) - share_over_steps(present - inside)) + (
            1 - alpha
        ) * share_over_steps(present)
        return share_over_steps(weights.abs().mean(-1)).to(features.dtype)

    def calibrate(self, batches: Iterable[Tensor | Sequence[Tensor | None]]) -> "CrestReadout":
        """Set the pooled budget and the run-up to the plain average over these batches, and return the readout.

        A batch is features (B, T, D), or a pair of features and mask (B, T). Batches of fewer than 8 trajectories do not
        count for the run-up; the budget of a batch is that without the run-up found so far.

        For a model that is not trained any further: without it, evaluation before any training batch falls
        back on each trajectory's own budget, and leaves no run-up out.

        Example:
            >>> readout = CrestReadout().calibrate([torch.randn(4, 64, 8), torch.randn(2, 64, 8)])
            >>> int(readout.running.batches)
            2
        """
        if self.running is None and self.run_up is None:
            raise ValueError(
                f"calibrate needs budget='pooled' or run_up='auto', got budget={self.budget!r} and a given run-up"
            )
        if isinstance(batches, Tensor):
            raise ValueError("batches must be an iterable of batches, got one tensor: pass [features]")
        seen, found = [], []
        for batch in batches:
            features, mask = batch if isinstance(batch, tuple | list) else (batch, None)
            series, valid = self._series(features, mask)
            left_out = None
            if self.run_up is not None:
                profile, rows = end_profile(series, valid, self._sigma, self.config.delta)
                found += [run_up_steps(profile, rows)] if enough_for_a_run_up(profile, rows) else []
                left_out = torch.stack(found).mean(0).round() if found else profile.new_zeros(2)
            selected = self._select(series, valid, observe=False, run_up=left_out)
            seen.append((selected.width, selected.tail, selected.inside))
        if self.running is not None:
            self.running.average(seen)
        if self.run_up is not None:
            self.run_up.average(found)
        return self

    def extra_repr(self) -> str:
        """What differs from the defaults, for `print(model)`."""
        parts = [f"budget={self.budget!r}"]
        parts += ["direction='stable'"] if self.direction == "stable" else []
        parts += [f"alpha={self.alpha}"] if self.alpha is not None else []
        parts += ["split=True"] if self.split else []
        parts += [f"background={self.background!r}"] if self.background != "slow" else []
        parts += [f"stride={self.stride}"] if self.stride != 1 else []
        parts += [f"run_up={self._left_out}"] if any(self._left_out) else []
        parts += [f"{name}={value}" for name, value in self.config.changes().items()]
        return ", ".join(parts)

    def _series(self, features: Features, mask: StepFlags | None) -> tuple[Features, StepMask | None]:
        """Checked features in float32 at least, and the mask as booleans.

        Time is contiguous in memory: FFT and sort run along it. Compiled code takes the features as they are, and never
        reads the padding.
        """
        compiled = isinstance(features, Tensor) and self._compiled(features)
        features, valid = checked_inputs(features, mask, self.validate, fill=not compiled)
        if any(self._left_out) and sum(self._left_out) >= features.shape[1]:
            raise ValueError(
                f"run_up must leave some of the {features.shape[1]} steps of features, got {self._left_out}"
            )
        if self.split and features.shape[-1] < 2:
            raise ValueError("split=True needs at least two channels in features, got 1")
        series = features.to(at_least_float32(features))
        if not compiled:
            series = series.transpose(1, 2).contiguous().transpose(1, 2)
        return series, valid

    def _compiled(self, features: Tensor) -> bool:
        """Whether the compiled operators do what these options ask for, on these features."""
        usual = self.background == "slow" and self.direction == "transient" and not self.split
        return usual and self._sigma <= LARGEST_SIGMA and serves(features)

    @torch.no_grad()
    def _residuals(self, series: Features, mask: StepMask | None, lines: int = 0) -> Residuals:
        config = self.config
        return residuals_of(
            series.detach(), mask, sigma=self._sigma, floor=RESIDUAL_FLOOR, delta=config.delta, lines=lines
        )

    @torch.no_grad()
    def _transience(self, series: Features, mask: StepMask | None) -> Features:
        return channel_transience(series, mask, self._sigma, self.config.delta, self._residual_from)

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

    @torch.no_grad()
    def _select(
        self, series: Features, valid: StepMask | None, observe: bool, run_up: Tensor | None = None
    ) -> "_Found":
        """What is selected, and the valid steps without the run-up."""
        # `no_grad` stops reverse mode alone: forward mode would carry tangents through budget and alpha.
        series = series.detach()
        config = self.config
        # In eager code a batch of few is not even looked at: it does not count.
        looked = observe and self.run_up is not None and (torch.compiler.is_compiling() or may_show(series))
        residuals = self._look(series, valid) if looked else None
        mask, left_out = self._inside(series, valid, run_up)
        if self._compiled(series):
            if residuals is None or mask is not valid:
                residuals = self._residuals(series, mask)
            ranking: Residuals | Tensor = residuals
            profile = residuals.profile.unsqueeze(1)
        else:
            transience = self._transience(series, mask)
            parts = [transience[..., start::2] for start in (0, 1)] if self.split else [transience]
            profile = torch.stack([transience_profile(part) for part in parts], dim=1)
            ranking = profile.transpose(1, 2) if self.split else transience
        epsilon, width, tail = self._budget(profile, mask, observe)
        alpha = (
            contrast_weight(epsilon, config) if self.alpha is None else torch.full_like(epsilon, self.alpha)
        )
        selected = self._ranked(ranking, epsilon, mask)
        if self.split:
            other_half = (torch.arange(series.shape[2], device=series.device) + 1) % 2
            selected, alpha = selected[..., other_half], alpha[:, other_half]
        return _Found(selected, alpha, epsilon, width, tail, left_out, mask)

    def _look(self, series: Features, valid: StepMask | None) -> Residuals | None:
        """Look for a run-up; the residuals over all valid steps, where compiled code finds them on the way."""
        if self.run_up is None:
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
        width = participation_width(profile, valid, self.config.delta)
        tail = otsu_tail(profile, valid)
        if self.running is not None:
            if observe:
                self.running.observe(width, tail, mask)
            pooled_width, pooled_tail = self.running(width, tail)
            return event_budget(pooled_width, pooled_tail, self.config), width, tail
        if isinstance(self.budget, str):
            return event_budget(width, tail, self.config), width, tail
        return torch.full_like(width, self.budget), width, tail
