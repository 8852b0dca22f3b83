"""CREST on a stream: features come in chunks, windows with their votes and pooled vectors go out."""

import copy
import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.arrays import Features, PerTrajectory, Pooled, StepCounts, StepMask
from crest._base.doors import door
from crest._base.tensors import require_finite, require_floating
from crest.background import kinds_of
from crest.background.transience import vote_count
from crest.readouts import CrestReadout
from crest.readouts.budget import event_budget

# our choice: docs/evidence/choices.md#streaming
_DEVIATIONS = 3.0


class StreamedWindow(NamedTuple):
    """A window of a stream, as CREST reads it."""

    start: int
    """Its first step, counted from the beginning of the stream."""
    pooled: Pooled
    """(B, D): what the head takes."""
    votes: StepCounts
    """(B, window): how many channels chose each step."""
    own_budget: PerTrajectory
    """(B,): the budget that the window would give itself. At the readout's `config.epsilon_max` (0.3) no step stands out,
    and the votes mean little: a frozen budget lets every window vote, also where nothing happens."""

    @property
    def stop(self) -> int:
        """The step after its last one."""
        return self.start + self.votes.shape[1]


@door
class StreamingCrest:
    """Windows of a stream as they become complete, for monitoring: any chunks in, the same windows out, to the bit.

    Each window is read by itself, exactly as the readout in evaluation mode reads a trajectory that is cut out there. So
    a window depends on its own steps alone, and not on how the stream came in. The stream keeps the last `window` steps and
    no more; what a step costs does not grow with the stream. No gradients.

    Budget and alpha are frozen: the stream works with a copy of the readout as it is now. With `budget="trajectory"` each
    window finds its own. The readout's run-up is left out at the beginning of the stream and, in `flush`, at its end: in
    between there is none, as long as the encoder carries its state from chunk to chunk.

    Args:
        readout: trained or calibrated, or with a budget that needs neither.
        window: steps of a window, best as many as the trajectories had that the head was trained on. Steps are those of
            the features; behind strides, give the readout its `stride`.
        hop: steps from one window's start to the next; `window` by default. With less, windows overlap, and what lies at
            an end of one is well inside another.

    Example:
        >>> features = 0.01 * torch.randn(2, 1000, 8)
        >>> features[:, 700:704] += 1.0
        >>> stream = StreamingCrest(CrestReadout(budget=0.05), window=256, hop=128)
        >>> windows = [window for chunk in features.split(90, dim=1) for window in stream.push(chunk)]
        >>> [window.start for window in windows], [window.start for window in stream.flush()]
        ([0, 128, 256, 384, 512, 640], [744])
        >>> last = windows[-1]
        >>> last.pooled.shape, int(last.start + last.votes[0].argmax()) in range(698, 706)
        (torch.Size([2, 8]), True)
    """

    def __init__(self, readout: CrestReadout, window: int, hop: int | None = None) -> None:
        hop = window if hop is None else hop
        require("window", window, "be a whole number, 1 or more")
        require("hop", hop, "be a whole number, 1 or more")
        if hop > window:
            raise ValueError(f"hop must be at most window = {window}, or steps are never read, got {hop}")
        _require_budget(readout)
        _require_room(readout, window)
        self.window, self.hop = int(window), int(hop)
        # A copy, so that further training of the readout does not reach the stream; chunks are checked when they come.
        self._readout = copy.deepcopy(readout).eval()
        # The copy looks at its windows too: by this it knows numbers that are near the end of their range, and scales first.
        self._validate = readout.validate
        self._run_up = _run_up_of(readout)
        self._readout.run_up, self._readout._left_out = None, (0, 0)
        self.reset()

    @property
    def steps(self) -> int:
        """Steps that came in since the stream began."""
        return self._steps

    @property
    def latency(self) -> int:
        """How many steps later, at most, the first window with a step is complete: hop - 1, once the first window is.

        No window waits for steps after its end. What the encoder waits for comes on top.
        """
        return self.hop - 1

    @door
    @torch.no_grad()
    def push(self, chunk: Features) -> list[StreamedWindow]:
        """The windows that this chunk completes, the oldest first; often none.

        A chunk that is refused leaves the stream as it was.

        Args:
            chunk: the next features (B, t, D) of B streams side by side; t may be 0, and differ from chunk to chunk.
        """
        self._check(chunk)
        found = []
        while chunk.shape[1]:
            missing = self._missing()
            self._append(chunk[:, :missing])
            chunk = chunk[:, missing:]
            if self._missing() == self.hop and self._steps >= self.window:
                found.append(self._read(ended=False))
        return found

    @door
    @torch.no_grad()
    def flush(self) -> list[StreamedWindow]:
        """End the stream: its last window, if some steps are in none yet, and begin anew.

        It ends at the last step and is as long as the others, so it overlaps the one before it by more. A stream
        that never filled a window gives all of its steps.
        """
        complete = self._steps >= self.window and self._missing() == self.hop
        found = [] if complete or self._steps == 0 else [self._read(ended=True)]
        self.reset()
        return found

    def reset(self) -> None:
        """Forget all steps: the next chunk begins a stream at step 0, of any batch, width, dtype and device."""
        self._ring: Tensor | None = None
        self._steps = 0

    def state_dict(self) -> dict[str, Tensor]:
        """All that the stream needs to go on elsewhere to the bit, frozen budget included, as copies of tensors."""
        numbers = {"window": self.window, "hop": self.hop, "steps": self._steps, "run_up": self._run_up}
        frozen = {f"readout.{name}": value.clone() for name, value in self._readout.state_dict().items()}
        return (
            {name: torch.tensor(value) for name, value in numbers.items()} | {"held": self._held()} | frozen
        )

    @door
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a `state_dict`, of a stream with the same window, hop and options of the readout."""
        own = self.state_dict()
        if set(state) != set(own):
            raise ValueError(f"state must hold {', '.join(sorted(own))}, got {', '.join(sorted(state))}")
        for name in ("window", "hop"):
            if state[name].tolist() != getattr(self, name):
                raise ValueError(
                    f"state must be of a stream with {name} = {getattr(self, name)}, got {state[name].tolist()}"
                )
        held, steps = state["held"], int(state["steps"])
        if held.ndim != 3 or held.shape[1] != min(steps, self.window):
            raise ValueError(
                f"state must hold the last {min(steps, self.window)} of its {steps} steps, got {tuple(held.shape)}"
            )
        start, end = state["run_up"].tolist()
        frozen = self._readout.state_dict()
        self._readout.load_state_dict({name: state[f"readout.{name}"] for name in frozen})
        self._run_up = (start, end)
        self.reset()
        if steps:
            self._steps = steps - held.shape[1]
            self._append(held)

    def __repr__(self) -> str:
        return f"StreamingCrest(window={self.window}, hop={self.hop}), {self._steps} steps seen"

    def _check(self, chunk: Tensor) -> None:
        if chunk.ndim != 3 or 0 in (chunk.shape[0], chunk.shape[2]):
            raise ValueError(f"chunk must have shape (B, t, D), B and D not 0, got {tuple(chunk.shape)}")
        require_floating("chunk", chunk)
        if self._ring is not None:
            before, now = ((one.shape[0], one.shape[2]) for one in (self._ring, chunk))
            if before != now:
                raise ValueError(
                    f"chunk must have B = {before[0]} streams and D = {before[1]} channels as before, got {now[0]} and {now[1]}: "
                    "flush() or reset() ends the stream"
                )
            if (self._ring.dtype, self._ring.device) != (chunk.dtype, chunk.device):
                raise ValueError(
                    f"chunk must be of {self._ring.dtype} on {self._ring.device} as before, got {chunk.dtype} on {chunk.device}"
                )
        if self._validate:
            require_finite("chunk", chunk)

    def _missing(self) -> int:
        """Steps until the next window is complete."""
        beyond = self._steps - self.window
        return -beyond if beyond < 0 else self.hop - beyond % self.hop

    def _append(self, steps: Tensor) -> None:
        """Write steps, at most a window of them, over the oldest ones."""
        if self._ring is None:
            self._ring = steps.new_empty(steps.shape[0], self.window, steps.shape[2])
            self._readout.to(steps.device)
        place = self._steps % self.window
        before_the_end = min(self.window - place, steps.shape[1])
        self._ring[:, place : place + before_the_end] = steps[:, :before_the_end]
        self._ring[:, : steps.shape[1] - before_the_end] = steps[:, before_the_end:]
        self._steps += steps.shape[1]

    def _held(self) -> Tensor:
        """The last steps in their order, in memory of their own: the layout must not depend on how they came."""
        if self._ring is None:
            return torch.empty(0, 0, 0)
        place = self._steps % self.window
        if self._steps < self.window:
            return self._ring[:, :place].clone()
        return torch.cat([self._ring[:, place:], self._ring[:, :place]], dim=1)

    def _read(self, ended: bool) -> StreamedWindow:
        """The last steps as a window."""
        features = self._held()
        start = self._steps - features.shape[1]
        mask = self._without_run_up(features, start, ended)
        core = self._readout.select(features, mask)
        own = event_budget(core.width, core.tail, self._readout.config).amax(1)
        return StreamedWindow(start, self._readout(features, mask), vote_count(core.selected), own)

    def _without_run_up(self, features: Tensor, start: int, ended: bool) -> StepMask | None:
        """The steps that the encoder's run-up leaves; None if that is all, or none at all."""
        first, last = self._run_up
        inside = torch.arange(start, self._steps, device=features.device) >= first
        if ended:
            inside &= torch.arange(start, self._steps, device=features.device) < self._steps - last
        if bool(inside.all()) or not bool(inside.any()):
            return None
        return inside.expand(features.shape[:2])


def _require_budget(readout: CrestReadout) -> None:
    if readout.running is not None and not int(readout.running.batches):
        raise ValueError(
            "readout must know its budget before a stream is read, got one that has seen no batch: train it, load its "
            "state_dict, or call readout.calibrate(batches) with features of normal operation, cut into windows of this length"
        )


def _require_room(readout: CrestReadout, window: int) -> None:
    """Raise a ValueError if a window is no longer than the low-pass or a peak."""
    filtered = {"slow", "core"} & set(kinds_of(readout.background))
    low_pass = 2 * math.ceil(_DEVIATIONS * readout._sigma) + 1 if filtered else 1
    peak = 2 * readout._dilation + 1
    least = max(low_pass, peak + 1)
    if window < least:
        raise ValueError(
            f"window must be {least} or more for this readout, whose low-pass is {low_pass} steps wide and whose peaks are "
            f"{peak}, got {window}"
        )


def _run_up_of(readout: CrestReadout) -> tuple[int, int]:
    """Steps at the start and at the end that the readout leaves out, as found or as given."""
    if readout.run_up is None:
        return readout._left_out
    start, end = readout.run_up.steps.long().tolist()
    return start, end
