"""The run-up: what an encoder shows at the ends of every trajectory by itself, and no event does.

A recurrent state starts at zero and runs up, a convolution sees zeros beyond the ends. Both look transient, in every
trajectory at the same steps: that is how they are told from events. What is compared is the distance from a line and not
from an average around each step: an average is off at the ends of every slope.
"""

import torch
from torch import Tensor

from crest._base.arguments import obeys
from crest._base.arrays import Features, Profile, ProfileMask, StepMask, smaller_size
from crest.background.transience import RESIDUAL_FLOOR
from crest.readouts.budget import RunningAverages
from crest.readouts.fast import serves
from crest.readouts.fast.fused import residuals_of
from crest.readouts.plain import line_profile

# our choice: docs/evidence/choices.md#run-up
_STARTS = 4.0
_ENDS = 2.0
_SMOOTH = 5
LONGEST = 0.25
"""The share of a trajectory that a run-up which was found may have at either end."""
_TRAJECTORIES = 8
LOOKED_AT = 16
"""So many trajectories of a batch are looked at: a median over more says no more, and costs."""


@torch.no_grad()
def end_profile(
    features: Features, mask: StepMask | None, sigma: float, delta: float
) -> tuple[Profile, ProfileMask | None]:
    """How transient each step of the first trajectories is, by a measure that is fair at the ends; and their mask."""
    # Not `[:LOOKED_AT]`: a traced graph would have one form for batches below and one for those above.
    number = smaller_size(features.shape[0], LOOKED_AT)
    rows = None if mask is None else mask.narrow(0, 0, number)
    looked_at = features.narrow(0, 0, number)
    if serves(looked_at):
        found = residuals_of(looked_at, rows, sigma=sigma, floor=RESIDUAL_FLOOR, delta=delta, lines=number)
        return found.line_profile, rows
    return line_profile(looked_at, rows, sigma=sigma, delta=delta), rows


def run_up_steps(profile: Profile, mask: StepMask | None = None) -> Tensor:
    """How many steps at the start and at the end (2,) of these trajectories (B, T) are the encoder's own.

    The median over trajectories of the transience at each distance from an end, in units of its median over all
    distances: a run-up begins where it is above 4 within the first steps, and lasts until its average over five steps
    falls below 2. At most a quarter of the steps; none in fewer than 8 trajectories, which could share an event by chance.

    Example:
        >>> profile = torch.ones(16, 64)
        >>> profile[:, :6] = 50.0
        >>> run_up_steps(profile)
        tensor([6., 0.])
    """
    if mask is None:
        # Turned round afterwards: the median over trajectories is what costs.
        common = profile.nanmedian(0).values
        ends = (common, common.flip(0))
    else:
        turned = (_from_first(profile, mask), _from_first(profile.flip(1), mask.flip(1)))
        ends = (turned[0].nanmedian(0).values, turned[1].nanmedian(0).values)
    found = torch.stack([_leading(end) for end in ends])
    return torch.where(enough_for_a_run_up(profile, mask), found, 0.0)


def enough_for_a_run_up(profile: Profile, mask: StepMask | None = None) -> Tensor:
    """Whether there are trajectories enough to tell a run-up from an event that a few share by chance."""
    rows = mask.any(1).sum() if mask is not None else torch.tensor(len(profile), device=profile.device)
    return rows >= _TRAJECTORIES


def free_to_ask(values: Tensor) -> bool:
    """Whether Python may look at values without waiting: not on a GPU, where `validate` alone waits.

    Example:
        >>> free_to_ask(torch.zeros(2))
        True
    """
    return values.device.type == "cpu"


def may_show(features: Features) -> bool:
    """Whether a batch can hold trajectories enough, whatever its mask says.

    Example:
        >>> may_show(torch.zeros(4, 30, 2))
        False
    """
    return len(features) >= _TRAJECTORIES


def _from_first(profile: Profile, mask: StepMask) -> Profile:
    """The valid steps of each row from the first on, then NaN; gaps are closed."""
    # Stable: valid steps come first and stay in their order.
    order = (~mask).to(torch.uint8).argsort(dim=1, stable=True)
    return profile.masked_fill(~mask, torch.nan).gather(1, order)


def _leading(common: Tensor) -> Tensor:
    """Length of the run-up at the first steps of what trajectories have in common (T,), which may end in NaN."""
    steps = common.isfinite().sum()
    ratio = common / common.nanmedian()
    # A profile that is zero nearly everywhere has no scale to compare with.
    ratio = torch.where(ratio.isfinite(), ratio, 0.0)
    # Five steps from each one on: a single low step in a run-up does not end it.
    padded = torch.nn.functional.pad(ratio, (0, _SMOOTH - 1))
    smooth = torch.stack([padded[shift : shift + len(ratio)] for shift in range(_SMOOTH)]).mean(0)
    # The product is one until the first step below, and zero from there on: its sum is a length, found without a branch.
    length = (smooth > _ENDS).to(common.dtype).cumprod(0).sum()
    begins = ratio[:_SMOOTH].amax() > _STARTS
    return torch.where(begins, length.minimum((LONGEST * steps).floor()), 0.0).to(common.dtype)


class RunUp(RunningAverages):
    """The run-up at both ends, averaged over training batches.

    Example:
        >>> run_up = RunUp(momentum=0.95)
        >>> profile = torch.ones(16, 64)
        >>> profile[:, -3:] = 50.0
        >>> run_up.observe(profile, None)
        >>> run_up.steps
        tensor([0., 3.])
    """

    start: Tensor
    end: Tensor

    def __init__(self, momentum: float) -> None:
        super().__init__(momentum, start=torch.zeros(()), end=torch.zeros(()))

    @property
    def steps(self) -> Tensor:
        """Whole steps at the start and at the end (2,); zero until a batch was seen."""
        return torch.stack([self.start, self.end]).round()

    def extra_repr(self) -> str:
        """What was found, for `print(model)`."""
        if self.start.is_meta or not int(self.batches):
            return "no batch seen"
        start, end = self.steps.long().tolist()
        return f"{start} steps at the start and {end} at the end are left out"

    def observe(self, profile: Profile, mask: StepMask | None) -> None:
        """Move the averages towards what this batch shows; a batch of few trajectories does not count."""
        start, end = run_up_steps(profile, mask).to(self.start)
        self.move(enough_for_a_run_up(profile, mask), start=start, end=end)

    def average(self, found: list[Tensor]) -> None:
        """Set the averages to the plain ones over what was found in some batches; to none without any."""
        self.reset_parameters()
        if found:
            start, end = torch.stack(found).mean(0)
            self.start.copy_(start)
            self.end.copy_(end)
            self.batches.fill_(len(found))


def without_run_up(mask: StepMask, steps: Tensor, longest: float = LONGEST) -> StepMask:
    """The valid steps less `steps` (2,) of them at the start and at the end; all of them if none would be left.

    Args:
        mask: valid steps (B, T).
        steps: at the start and at the end.
        longest: the share of a trajectory's valid steps that may be left out at either end.

    Example:
        >>> without_run_up(torch.ones(1, 8, dtype=torch.bool), torch.tensor([2.0, 1.0]))
        tensor([[False, False,  True,  True,  True,  True,  True, False]])
    """
    # Counted in valid steps: a gap or padding at the start is no part of a run-up.
    place = mask.to(torch.int64).cumsum(1)
    total = place[:, -1:]
    most = (longest * total).floor()
    inside = mask & (place > torch.minimum(steps[0], most)) & (total - place >= torch.minimum(steps[1], most))
    # Not `where`: onnxruntime has none for booleans.
    return inside | (mask & ~inside.any(1, keepdim=True))


def both_ends(run_up: int | tuple[int, int]) -> tuple[int, int]:
    """Steps at the start and at the end, from one number (the start's) or two.

    Example:
        >>> both_ends(32), both_ends((32, 8))
        ((32, 0), (32, 8))
    """
    ends = (run_up, 0) if isinstance(run_up, int) else run_up
    rule = "be a whole number, 0 or more"
    if not isinstance(ends, tuple | list) or len(ends) != 2 or not all(obeys(steps, rule) for steps in ends):
        raise ValueError(
            "run_up must be 'auto', a number of steps at the start, or a pair for start and end, each a whole "
            f"number, 0 or more, got {run_up!r}"
        )
    return int(ends[0]), int(ends[1])
