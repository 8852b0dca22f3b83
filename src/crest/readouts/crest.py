"""CREST, Algorithm 1 of the paper: select transient steps channel by channel, pool their contrast with the rest.

`CrestReadout.forward` and the methods below it follow the algorithm's lines in their order. What they call stands in
`crest.background.transience` (residuals, top steps, dilation), `crest.readouts.budget` (budget and weight),
`crest.readouts.run_up` (what is left out at the ends) and `crest.readouts.fast` (the same passes, compiled).
"""

# Longer than 300 lines: the algorithm is one idea, and a class cut in two hides in which order its lines run.

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from crest._base.arguments import obeys, require
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
    smaller_size,
    valid_steps,
)
from crest.background.separation import background_of
from crest.background.transience import (
    RANKING_TIE,
    RESIDUAL_FLOOR,
    from_first_step,
    residual_resolution,
    selected_count,
    vote_count,
)
from crest.readouts import graph, plain
from crest.readouts.base import HEADROOM, Readout, checked_inputs
from crest.readouts.budget import RunningBudget, contrast_weight, event_budget, width_and_tail
from crest.readouts.config import CrestConfig
from crest.readouts.fast import LARGEST_SIGMA, fused, serves
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


class MaskedMeans(NamedTuple):
    """Means of the features over the selected, the remaining and all valid steps."""

    selected: Pooled
    rest: Pooled
    everything: Pooled


def masked_means(features: Features, selected: Selection, mask: StepMask | None = None) -> MaskedMeans:
    """F_sel, F_rest and F_global, channel by channel.

    If a channel selects every valid step there is no rest. The global mean then takes its place, so that the
    contrast is zero. A trajectory without valid steps gives zeros.

    Example:
        >>> features = torch.tensor([[[1.0], [5.0], [3.0]]])
        >>> masked_means(features, features > 4).rest
        tensor([[2.]])
    """
    # From the first step, so that a large common offset costs no digits.
    shifted, first = from_first_step(features.to(at_least_float32(features)), mask)
    valid = valid_steps(mask, selected[..., 0]).unsqueeze(-1)
    steps = valid.sum(1)
    keep = (selected & valid).to(shifted.dtype)
    size = keep.sum(1)
    left = steps - size
    inside = (shifted * (keep / size.clamp(min=1).unsqueeze(1))).sum(1)
    outside = (shifted * ((valid.to(shifted.dtype) - keep) / left.clamp(min=1).unsqueeze(1))).sum(1)
    share = size / steps.clamp(min=1)
    everything = share * inside + (1 - share) * outside
    rest = torch.where(left > 0, outside, everything)
    return MaskedMeans(inside + first, rest + first, everything + first)


def contrast(means: MaskedMeans, alpha: Tensor) -> Pooled:
    """P = alpha (F_sel - F_rest) + (1 - alpha) F_global.

    Example:
        >>> one, two, three = torch.ones(1, 1), torch.full((1, 1), 2.0), torch.full((1, 1), 3.0)
        >>> contrast(MaskedMeans(selected=three, rest=one, everything=two), torch.tensor([[0.75]]))
        tensor([[2.]])
    """
    return alpha * (means.selected - means.rest) + (1 - alpha) * means.everything


def share_over_steps(weights: Tensor) -> Tensor:
    """Weights (B, T, ...) divided by their sum over steps; zero if that is zero.

    Example:
        >>> share_over_steps(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
        tensor([[0.2500, 0.7500],
                [0.0000, 0.0000]])
    """
    total = weights.sum(1, keepdim=True)
    return weights / torch.where(total == 0, 1.0, total)


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


class CheckedFeatures(NamedTuple):
    """What is pooled, as it came through the door."""

    values: Features
    """In float32 at least."""
    valid: StepMask | None
    compiled: bool
    """Whether the compiled operators take them."""
    unit: float
    """The power of two in whose units they are; 1 unless they come near the end of their dtype's range."""


class StepBudget(NamedTuple):
    """Lines 2 and 3: how many steps there is room for, and why. Groups G as in `Core`."""

    epsilon: PerProfile
    alpha: Tensor
    wanted: Tensor
    """K' (B, G), before steps without a residual are counted out."""
    width: PerProfile
    tail: PerProfile


class FoundCore(NamedTuple):
    """Lines 1 to 4: a `Core`, with its steps as the backend keeps them."""

    selected: fused.Chosen | plain.MarkedSteps
    budget: StepBudget
    run_up: Tensor
    """(2,): steps at the start and at the end that were left out."""
    inside: StepMask | None
    """The valid steps without the run-up."""


class CrestReadout(Readout):
    """Label-free, training-free readout that re-anchors pooling on a transient event core (Algorithm 1).

    No parameters. Gradients flow through the pooled features only, never through selection and budget, which
    are computed in float32 at least. The paper's ablations, stable steps and sample splitting, are
    `crest.lab.ablations.AblatedCrestReadout`.

    Args:
        budget: how the event fraction is found. "trajectory": from each trajectory's own profile, as the
            paper's text has it. "pooled": width and tail are averaged over the batch and kept as a running
            average over training batches, frozen in evaluation and saved in the `state_dict`; until a first
            training batch was seen, evaluation uses each trajectory's own. In distributed training each
            process moves its own and the first one's are broadcast, as batch normalisation does it. A
            number in (0, 1]: fixed.
        alpha: a fixed contrast weight in [0, 1] instead of the one that follows from the budget.
        background: what a step's residual is taken from, a kind of `crest.background.split`: the paper's "slow", or
            "periodic+slow" if a machine runs or positions ripple through the features, which costs hundreds of times more
            and does not compile or export.
        run_up: steps at the start, or at the start and the end, that are left out: a recurrent state runs up
            there, a convolution sees padding. "auto" finds them in training batches of 8 and more, and in
            `calibrate`, as a transience that every trajectory shows at its first or last steps: an average over
            batches, at most a quarter of a trajectory at either end. Give 0 if every trajectory begins with its
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
        alpha: float | None = None,
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
        if alpha is not None:
            require("alpha", alpha, "lie in [0, 1]")
        if config is not None and not isinstance(config, CrestConfig):
            raise ValueError(f"config must be a CrestConfig, got {type(config).__name__}")
        self._residual_from = background_of(background, name="background")
        require("stride", stride, "be a whole number, 1 or more")
        self.background = background
        self.stride = stride
        self.budget = budget
        self.alpha = alpha
        self.config = config or CrestConfig()
        # In steps of the features. A low-pass below one step would leave nothing, so behind strides it has one at least.
        self._sigma = max(self.config.sigma / stride, 1.0) if stride > 1 else self.config.sigma
        self._dilation = -(-self.config.dilation // stride)
        # Their names are in checkpoints.
        self.running = RunningBudget(self.config.momentum) if budget == "pooled" else None
        self.run_up = RunUp(self.config.momentum) if run_up == "auto" else None
        self._left_out = (0, 0) if run_up == "auto" else both_ends(run_up)

    def forward(self, features: Features, mask: StepFlags | None = None) -> Pooled:
        """Pooled vector of each trajectory (Algorithm 1); zero if no step is valid."""
        series = self._checked_series(features, mask)
        # Lines 1 to 4, without gradients.
        found = self._find(series, observe=self.training)
        # Lines 5 and 6, both as one weighted sum; `contrast` of `masked_means` is the same in the paper's words.
        if isinstance(found.selected, fused.Chosen):
            pooled = fused.pool_chosen(series.values, found.selected, found.budget.alpha, found.inside)
        else:
            in_graph = graph.graph_sum if self._in_graph(series.values) else None
            pooled = plain.pool_marked(
                series.values, found.selected, found.budget.alpha, found.inside, in_graph
            )
        return (pooled if series.unit == 1 else series.unit * pooled).to(features.dtype)

    def _checked_series(self, features: Features, mask: StepFlags | None) -> CheckedFeatures:
        """Features F in float32 at least, and the mask as booleans."""
        compiled = isinstance(features, Tensor) and self._compiled(features)
        # Compiled code never reads the padding, so what stands there need not be overwritten.
        features, valid, far_from_overflow = checked_inputs(features, mask, self.validate, fill=not compiled)
        if any(self._left_out) and sum(self._left_out) >= features.shape[1]:
            raise ValueError(
                f"run_up must leave some of the {features.shape[1]} steps of features, got {self._left_out}"
            )
        # Half precision has too few digits to rank residuals by.
        values = features.to(at_least_float32(features))
        # There the difference of two finite numbers can be infinite, and the next one is NaN.
        unit = 1.0 if far_from_overflow else HEADROOM
        values = values if far_from_overflow else values / HEADROOM
        return CheckedFeatures(values=values, valid=valid, compiled=compiled, unit=unit)

    def _compiled(self, features: Tensor) -> bool:
        """Whether the compiled operators do what these options ask for, on these features."""
        return self.background == "slow" and self._sigma <= LARGEST_SIGMA and serves(features)

    def _find(self, series: CheckedFeatures, *, observe: bool, run_up: Tensor | None = None) -> FoundCore:
        """Lines 1 to 4: the selected steps M with their budget.

        Args:
            series: the features.
            observe: whether running averages move towards this batch.
            run_up: steps to leave out at both ends (2,) instead of those found or given.
        """
        # Detached, and not under `no_grad`: that stops reverse mode alone, and forward mode would carry tangents through
        # budget and alpha.
        detached = series._replace(values=series.values.detach())
        residuals = self._look_for_run_up(detached) if observe else None
        inside, left_out = self._without_run_up(detached, run_up)
        # Residuals depend on the mask: those of the look at the run-up serve as long as it leaves nothing out.
        if residuals is None or inside is not series.valid:
            residuals = self._residuals(detached._replace(valid=inside), residuals, of=series.valid)
        budget = self._budget(self._profiles(residuals), inside, observe=observe)
        selected = self._choose(residuals, budget, inside)
        return FoundCore(selected=selected, budget=budget, run_up=left_out, inside=inside)

    def _look_for_run_up(self, series: CheckedFeatures) -> graph.EitherResiduals | None:
        """Look for a run-up; the residuals over all valid steps, if they are found on the way and may serve again."""
        # In eager code a batch of few is not even looked at: it does not count. A traced graph has no such branch, since the
        # size of the batch may be dynamic.
        tracing = torch.compiler.is_compiling()
        if self.run_up is None or not (tracing or may_show(series.values)):
            return None
        looked_at = smaller_size(series.values.shape[0], LOOKED_AT)
        # Once a run-up is left out, line 1 needs residuals of other steps than those looked at: nothing can be shared. Nor can it
        # where nobody may ask whether it is, or where line 1 has another background.
        shared = not tracing and self.background == "slow" and free_to_ask(series.values)
        shared = shared and not self.run_up.steps.any()
        # A node of a graph asks for itself.
        if not (shared or self._in_graph(series.values)):
            self.run_up.observe(*end_profile(series.values, series.valid, self._sigma, self.config.delta))
            return None
        residuals = self._residuals(series, lines=looked_at)
        valid = None if series.valid is None else series.valid.narrow(0, 0, looked_at)
        self.run_up.observe(residuals.line_profile, valid)
        return residuals

    def _without_run_up(
        self, series: CheckedFeatures, run_up: Tensor | None = None
    ) -> tuple[StepMask | None, Tensor]:
        """The valid steps without the run-up at the ends, and how many steps that has (2,)."""
        if run_up is None and self.run_up is not None:
            run_up = self.run_up.steps
        if run_up is None:
            steps, nothing = series.values.new_tensor(self._left_out), self._left_out == (0, 0)
        else:
            steps = run_up.to(series.values.dtype)
            # Masks cost time: none is made if there is nothing to leave out. To ask for that is to wait for a GPU, and a
            # traced graph cannot ask.
            asked = (self.validate or free_to_ask(steps)) and not torch.compiler.is_compiling()
            nothing = asked and not steps.any()
        if nothing:
            return series.valid, steps
        # A run-up that the user gives is taken as given; one that was found is held below a quarter of each trajectory.
        longest = 1.0 if self.run_up is None else LONGEST
        return without_run_up(valid_steps(series.valid, series.values[..., 0]), steps, longest), steps

    def _in_graph(self, features: Tensor) -> bool:
        """Whether plain passes are nodes of a compiled graph."""
        return self.background == "slow" and graph.in_graph(features)

    def _residuals(
        self,
        series: CheckedFeatures,
        known: graph.EitherResiduals | None = None,
        *,
        of: StepMask | None = None,
        lines: int = 0,
    ) -> graph.EitherResiduals:
        """Line 1: r_tj and r_t; for the first `lines` trajectories r_t by a line, too. Those `of` another mask may be known."""
        values, mask, sigma, delta = series.values, series.valid, self._sigma, self.config.delta
        if known is not None and self._in_graph(values):
            return graph.renewed(known, values, mask, of, sigma=sigma, delta=delta)
        if series.compiled:
            return fused.residuals_of(
                values, mask, sigma=sigma, floor=RESIDUAL_FLOOR, delta=delta, lines=lines
            )
        if self._in_graph(values):
            return graph.graph_residuals(values, mask, sigma=sigma, delta=delta, lines=lines)
        return plain.residual_parts(
            values, mask, sigma=sigma, delta=delta, background=self._residual_from, lines=lines
        )

    def _profiles(self, residuals: graph.EitherResiduals) -> Tensor:
        """(B, G, T): what budgets are found from. Groups G as in `Core`."""
        return residuals.profile.unsqueeze(1)

    def _budget(self, profile: Tensor, inside: StepMask | None, *, observe: bool) -> StepBudget:
        """Lines 2 and 3: from profiles (B, G, T) the event fraction, its contrast weight and K'."""
        config = self.config
        width, tail = width_and_tail(profile, None if inside is None else inside.unsqueeze(1), config.delta)
        if self.running is not None:
            # The batch moves the averages before it is pooled by them: so the first one has a budget.
            if observe:
                self.running.observe(width, tail, inside)
            pooled_width, pooled_tail = self.running(width, tail)
            epsilon = event_budget(pooled_width, pooled_tail, config)
        elif isinstance(self.budget, str):
            epsilon = event_budget(width, tail, config)
        else:
            epsilon = torch.full_like(width, self.budget)
        alpha = (
            contrast_weight(epsilon, config) if self.alpha is None else torch.full_like(epsilon, self.alpha)
        )
        steps = torch.full_like(epsilon, profile.shape[-1]) if inside is None else inside.sum(1, keepdim=True)
        wanted = selected_count(epsilon, steps, self._dilation)
        return StepBudget(epsilon=epsilon, alpha=alpha, wanted=wanted, width=width, tail=tail)

    def _choose(
        self, residuals: graph.EitherResiduals, budget: StepBudget, inside: StepMask | None
    ) -> fused.Chosen | plain.MarkedSteps:
        """Line 4: M_tj."""
        if isinstance(residuals, plain.ResidualParts):
            most = self._most(residuals.profile.shape[1])
            choose = graph.graph_steps if self._in_graph(residuals.profile) else plain.mark_steps
            return choose(residuals, budget.wanted, inside, dilation=self._dilation, most=most)
        return fused.choose_steps(
            residuals,
            # No step without a residual counts as transient, however large the budget.
            budget.wanted.minimum(residuals.above).clamp(min=1),
            inside,
            floor=RESIDUAL_FLOOR,
            tie=RANKING_TIE,
            resolution=residual_resolution(residuals.peak.dtype),
            dilation=self._dilation,
        )

    def _most(self, steps: int) -> int:
        """A number that no K' of so many steps exceeds."""
        largest = self.config.epsilon_max if isinstance(self.budget, str) else self.budget
        # In whole numbers, as the length of a traced graph is one: the largest fraction in millionths.
        return 1 + steps * math.ceil(1e6 * largest) // (1_000_000 * (2 * self._dilation + 1))

    def select(self, features: Features, mask: StepFlags | None = None) -> Core:
        """The selected steps with their budget, as a `Core`; changes no running average.

        `select(features).epsilon` at `config.epsilon_max` (0.3) says that no sharp event core was found.
        """
        found = self._find(self._checked_series(features, mask), observe=False)
        budget = found.budget
        return Core(
            selected=found.selected.steps(),
            alpha=budget.alpha,
            epsilon=budget.epsilon,
            width=budget.width,
            tail=budget.tail,
            run_up=found.run_up,
        )

    def votes(self, features: Features, mask: StepFlags | None = None) -> StepCounts:
        """How many channels chose each step (B, T): where the event is, for free. Padding gets none."""
        return vote_count(self.select(features, mask).selected)

    def profile(self, features: Features, mask: StepFlags | None = None) -> Profile:
        """How transient each step is (B, T), over all channels: what is ranked; 0 on padding and in the run-up."""
        series = self._checked_series(features, mask)
        values = series.values.detach()
        inside, _ = self._without_run_up(series._replace(values=values))
        return self._residuals(series._replace(values=values, valid=inside)).profile

    def step_weights(self, features: Features, mask: StepFlags | None = None) -> StepScores:
        """Absolute weight of each step in the pooled vector, averaged over channels, as a share.

        The rest enters with a negative sign, so a step outside the core can have a share too.
        """
        series = self._checked_series(features, mask)
        found = self._find(series, observe=False)
        alpha = found.budget.alpha.unsqueeze(1)
        # Products with shares of zeros and ones, as in `masked_means`; an empty rest or selection has no share.
        present = valid_steps(found.inside, series.values[..., 0]).unsqueeze(-1).to(alpha.dtype)
        inside = found.selected.steps() * present
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
            series = self._checked_series(features, mask)
            left_out = None
            if self.run_up is not None:
                profile, rows = end_profile(series.values, series.valid, self._sigma, self.config.delta)
                found += [run_up_steps(profile, rows)] if enough_for_a_run_up(profile, rows) else []
                # The run-up so far, and not the running one: the average of a former training must not have a say.
                left_out = torch.stack(found).mean(0).round() if found else profile.new_zeros(2)
            core = self._find(series, observe=False, run_up=left_out)
            seen.append((core.budget.width, core.budget.tail, core.inside))
        if self.running is not None:
            self.running.average(seen)
        if self.run_up is not None:
            self.run_up.average(found)
        return self

    def extra_repr(self) -> str:
        """What differs from the defaults, for `print(model)`."""
        parts = [f"budget={self.budget!r}"]
        parts += [f"alpha={self.alpha}"] if self.alpha is not None else []
        parts += [f"background={self.background!r}"] if self.background != "slow" else []
        parts += [f"stride={self.stride}"] if self.stride != 1 else []
        parts += [f"run_up={self._left_out}"] if any(self._left_out) else []
        parts += [f"{name}={value}" for name, value in self.config.changes().items()]
        return ", ".join(parts)
