"""CREST: select transient steps channel by channel, pool their contrast with the rest."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from crest._base.arguments import obeys, require, require_choice
from crest._base.arrays import (
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
from crest.background.selection import vote_count
from crest.background.separation import background_of
from crest.background.transience import from_first_step, transience_profile
from crest.readouts.base import checked_inputs
from crest.readouts.config import CrestConfig
from crest.readouts.core_finding import CoreFinder
from crest.readouts.fast.fused import Chosen, pool_chosen
from crest.readouts.means import contrast, share_over_steps, shifted_means
from crest.readouts.run_up import RunUp, both_ends, end_profile, enough_for_a_run_up, run_up_steps
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


class CrestReadout(CoreFinder):
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
        found = self._find(series, valid, observe=self.training)
        if isinstance(found.selected, Chosen):
            pooled = pool_chosen(series, found.selected, found.alpha, found.inside)
        else:
            flags, shifted, first = found.selected
            pooled = contrast(shifted_means(shifted, first, flags, found.inside), found.alpha)
        return pooled.to(features.dtype)

    def select(self, features: Features, mask: StepFlags | None = None) -> Core:
        """The selected steps with their budget, as a `Core`; changes no running average.

        `select(features).epsilon` at `config.epsilon_max` (0.3) says that no sharp event core was found.
        """
        found = self._find(*self._series(features, mask), observe=False)
        return Core(found.selected.steps(), *found[1:-1])

    def votes(self, features: Features, mask: StepFlags | None = None) -> StepCounts:
        """How many channels chose each step (B, T): where the event is, for free. Padding gets none."""
        return vote_count(self.select(features, mask).selected)

    def profile(self, features: Features, mask: StepFlags | None = None) -> Profile:
        """How transient each step is (B, T), over all channels: what is ranked; 0 on padding and in the run-up."""
        series, valid = self._series(features, mask)
        series = series.detach()
        inside = self._inside(series, valid, None)[0]
        if self._compiled(series):
            return self._residuals(series, inside).profile
        return transience_profile(self._transience(from_first_step(series, inside)[0], inside))

    def step_weights(self, features: Features, mask: StepFlags | None = None) -> StepScores:
        """Absolute weight of each step in the pooled vector, averaged over channels, as a share.

        The rest enters with a negative sign, so a step outside the core can have a share too.
        """
        series, valid = self._series(features, mask)
        found = self._find(series, valid, observe=False)
        present = valid_steps(found.inside, series[..., 0]).unsqueeze(-1).to(found.alpha.dtype)
        inside = found.selected.steps() * present
        alpha = found.alpha.unsqueeze(1)
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
            core = self._find(series, valid, observe=False, run_up=left_out)
            seen.append((core.width, core.tail, core.inside))
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
