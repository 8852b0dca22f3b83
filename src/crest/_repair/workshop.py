"""Where candidates are made: each from a fresh copy of the trained model."""

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from crest._base.rng import scope, seeded, torch_generator, undisturbed
from crest._repair.measuring import Yardstick
from crest._repair.repaired import MeasuredModel
from crest._repair.structure import Structure
from crest.remedies.reanchored import Reanchored
from crest.remedies.reanchoring import reanchor
from crest.remedies.remedy import FrontMaker, Remedy, mask_argument
from crest.strangers.batch import Batch, generators_of
from crest.strangers.batch_forms import BatchForm, ChangedBatches, DrawnBatches, bounded
from crest.strangers.interface import Interface
from crest.strangers.pooling import find_place
from crest.strangers.slot import Layout

Fit: TypeAlias = Callable[[nn.Module, Iterable[Any]], Any]
"""The user's own training: a model, and batches that can be read many times. In place, or it returns a model."""

_NO_POOLING = (
    "No pooling layer was found, and features and head do not fit: name the pooling layer, or the module whose output a line "
    "of `forward` pools, with pooling=."
)
_NO_HEAD = (
    "No linear layer was found that reads the pooled vector directly. Pass pooling=(layer, head) to name it."
)
_NO_FIT = "It needs training: pass your training function as fit=."
_NO_CONDITIONS = "It needs the operating condition of each training trajectory: pass conditions=."


class FitResultError(ValueError):
    """`fit` returned something that is neither a model nor None."""


@dataclass(frozen=True, kw_only=True)
class TriedModel:
    """A candidate, its build and its numbers."""

    model: nn.Module
    """In evaluation mode."""
    row: MeasuredModel
    """Its numbers."""
    structure: Structure = field(default_factory=Structure)
    """How it was built."""
    reanchored: Reanchored | None = None
    """What re-anchoring reported."""


def head_targets(targets: Tensor | None, judged: Batch) -> Tensor | None:
    """What a linear head should give: one-hot classes as their numbers, and 1 or -1 for a label that is there or not.

    Args:
        targets: of training trajectories, as they came.
        judged: the held-out trajectories, whose targets tell what those of several columns are.

    Example:
        >>> import torch
        >>> classes, labels = Batch(torch.zeros(2, 5, 1), torch.ones(2)), Batch(torch.zeros(2, 5, 1), torch.ones(2, 2))
        >>> head_targets(torch.tensor([[0, 1]]), classes), head_targets(torch.tensor([[0, 1]]), labels)
        (tensor([1]), tensor([[-1.,  1.]]))
    """
    if targets is None or targets.ndim < 2 or targets.shape[1] == 1 or judged.targets is None:
        return targets
    if judged.label or judged.targets.ndim > 1:
        # A label is predicted from a logit of 0 on, behind a sigmoid too.
        return 2 * targets.to(torch.get_default_dtype()) - 1
    # A column that was chosen of numbers leaves the head as many outputs as it has.
    return targets.to(torch.int64).argmax(1) if bool(((targets == 0) | (targets == 1)).all()) else targets


def measured(
    model: nn.Module, yardstick: Yardstick, started: float, judged_on: str | None = None
) -> MeasuredModel:
    """The candidate's numbers, but for the field.

    Args:
        model: the candidate.
        yardstick: how to measure.
        started: when its making began, by `time.perf_counter`.
        judged_on: the other separation by which it is judged too, as `Remedy.judged_on` has it.
    """
    id_error, exchange = yardstick.error_on(model, yardstick.validation), yardstick.tested(model)
    even_error, even_constant = yardstick.even_errors(model)
    return MeasuredModel(
        id_error=id_error,
        exchange=exchange,
        even_error=even_error,
        even_constant=even_constant,
        other_error=None if judged_on is None else yardstick.other_error(model, judged_on),
        seconds=time.perf_counter() - started,
    )


@dataclass(kw_only=True)
class Workshop:
    """Makes candidates. What it was not told of the model it finds on the first batch, and says so in `notes`."""

    model: nn.Module
    """The trained model; only copies of it are changed."""
    batches: Iterable[Any]
    """To train on."""
    form: BatchForm
    """Of the batches."""
    first: Batch
    """Some batch, to look at the model with."""
    channels_first: bool
    """Whether the model takes (B, C, T)."""
    seed: int
    """Of changed batches and of torch's state in training."""
    pooling: str | None = None
    """Path of the pooling layer."""
    head: str | None = None
    """Path of the head."""
    layout: Layout | None = None
    """How the pooling layer is called."""
    keepdim: bool | None = None
    """Whether it keeps a time axis of length one."""
    fit: Fit | None = None
    """The user's training."""
    most: int = 4096
    """At most this many trajectories are read of batches that do not tell how many they are."""
    weights: Tensor | None = None
    """Of each training trajectory, with which every pair of target and condition comes equally often; None without conditions."""
    stride: int = field(default=1, init=False)
    """Input steps for each step of the features."""
    notes: list[str] = field(default_factory=list, init=False)
    """What was found."""
    _no_pooling: str = field(default=_NO_POOLING, init=False)
    interface: Interface | None = field(default=None, init=False)
    """Where features and head are, if a line of `forward` pools."""

    def __post_init__(self) -> None:
        """See on the first batch where CREST can stand, and what reads it."""
        batch = self.first.with_axes(self.channels_first, "train_batches")
        try:
            found = find_place(
                self.model, batch, self.pooling, head=self.head, layout=self.layout, keepdim=self.keepdim
            )
        except ValueError as unknown:
            if self.pooling is not None:
                raise
            # The user named no layer, so it is no error of theirs.
            self._no_pooling = f"{_NO_POOLING} {unknown}."
            return
        if isinstance(found, Interface):
            self.interface = found
            self.notes.append(f"A line of `forward` pools the {found}.")
        else:
            self.notes += [] if self.pooling else [f"The pooling layer was found at {found.path!r}."]
            self.pooling, self.layout, self.keepdim = found.path, found.layout, found.keepdim
        self.stride = found.stride
        if self.stride > 1:
            self.notes.append(
                f"One step of the features covers {self.stride} steps of the inputs; CREST's constants count steps of the inputs."
            )
        if self.head is None and found.linear is not None:
            self.head = found.linear
            self.notes.append(f"The head was found at {self.head!r}.")

    def lacks(self, remedy: Remedy) -> str | None:
        """What is missing for this remedy; None if nothing is."""
        if remedy.needs_pooling and self.pooling is None and self.interface is None:
            return self._no_pooling
        if remedy.needs_conditions and self.weights is None:
            return _NO_CONDITIONS
        if remedy.needs_fit:
            return _NO_FIT if self.fit is None else None
        return _NO_HEAD if self.head is None else None

    def made(self, name: str, remedy: Remedy, yardstick: Yardstick) -> TriedModel:
        """The candidate of this remedy, made and measured: the same one, whatever was made before and in which process."""
        with undisturbed(*generators_of(self.batches)), scope(self.seed, "repair/candidate"):
            return self._made(name, remedy, yardstick)

    def _made(self, name: str, remedy: Remedy, yardstick: Yardstick) -> TriedModel:
        started = time.perf_counter()
        model, found = copy.deepcopy(self.model), None
        if remedy.needs_fit:
            # A known front is saved under its own name, so that it loads by itself.
            front = remedy.front_name or name
            structure = self._structure(remedy, front=None if remedy.front is None else front)
            fronts = {} if remedy.front is None else {front: self._front(remedy.front)}
            model = self._trained(structure.build(model, fronts), remedy)
        else:
            found = self._reanchored(model, yardstick.validation)
            structure = self._structure(remedy, budget=found.budget)
        model.zero_grad(set_to_none=True)
        model.eval()
        row = measured(model, yardstick, started, remedy.judged_on)
        return TriedModel(model=model, row=row, structure=structure, reanchored=found)

    def _front(self, maker: FrontMaker) -> nn.Module:
        """The front, calibrated on training signals if it can be: an envelope's band is found on them."""
        front = maker(channels_first=self.channels_first)
        if callable(calibrate := getattr(front, "calibrate", None)):
            batch = self.first.with_axes(self.channels_first, "train_batches")
            calibrate(batch.inputs.clone(), batch.mask)
        return front

    def _structure(self, remedy: Remedy, **more: Any) -> Structure:
        pooled: dict[str, Any] = {}
        if remedy.needs_pooling and self.interface is not None:
            # What is fitted again is the linear layer, so CREST stands in front of that, behind no normalisation.
            again = remedy.pooling == "re-anchored"
            head = self.interface.linear or self.interface.head if again else self.interface.head
            pooled = {"interface": replace(self.interface, head=head), "stride": self.stride}
        elif remedy.needs_pooling:
            pooled = {
                "pooling": self.pooling,
                "layout": self.layout,
                "keepdim": self.keepdim,
                "stride": self.stride,
            }
        return Structure(channels_first=self.channels_first, **pooled, **more)

    def _batches(self, remedy: Remedy) -> Iterable[Any]:
        """The batches to train on; each pass over them draws anew, and the seed repeats a run."""
        # Copies: a model, a change or a training that works in place changes neither the user's tensors nor what comes next.
        batches: Iterable[Any] = ChangedBatches(self.batches, self.form.copied)
        if remedy.balanced and self.weights is not None:
            whole = bounded(self.batches, self.most)
            batches = DrawnBatches(whole, self.form, self.weights, seed=self.seed, argument="train_batches")
        if remedy.change is None:
            return batches
        numbers = torch_generator(self.seed, "repair/batches")
        change = remedy.change(generator=numbers, channels_first=self.channels_first)
        by_name = mask_argument(change)

        def changed(batch: Any) -> Any:
            parts = self.form.parts(batch, "train_batches")
            inputs, mask = parts.inputs, parts.mask
            given = change(inputs) if by_name is None else change(inputs, **{by_name: mask})
            if not isinstance(given, Tensor) or given.shape != inputs.shape:
                got = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
                raise ValueError(
                    f"a change of batches must return signals of the shape {tuple(inputs.shape)} that it was given, got {got}"
                )
            return self.form.with_inputs(batch, given)

        return ChangedBatches(batches, changed)

    def _trained(self, model: nn.Module, remedy: Remedy) -> nn.Module:
        batches = self._batches(remedy)
        if self.fit is None:
            raise ValueError("fit must be given for a remedy that trains")
        # Whatever a training draws or sets, the next candidate starts as this one did.
        with seeded(self.seed, "repair/fit", generators_of(self.batches)):
            try:
                returned = self.fit(model.train(), batches)
            except ValueError as error:
                batch = next(iter(batches), None) if "values to unpack" in str(error) else None
                if batch is None:
                    raise
                form = self.form.words(batch)
                raise ValueError(f"{error}; if fit unpacks its batches so: they are {form}") from error
        if returned is None:
            return model
        if not isinstance(returned, nn.Module):
            raise FitResultError(
                f"fit must train the model in place and return None, or return a model, got {type(returned).__name__}"
            )
        # It may be a model that the user holds: what is done with a candidate is done to a copy.
        return returned if returned is model else copy.deepcopy(returned)

    def _reanchored(self, model: nn.Module, judged: Batch) -> Reanchored:
        """The report of re-anchoring, which changes the model.

        Args:
            model: a copy of the trained model.
            judged: the held-out trajectories, which tell what targets of several columns are.
        """
        place = self.pooling if self.interface is None else replace(self.interface, head=self.head or "")
        if place is None or self.head is None:
            raise ValueError("pooling and head must be known for re-anchoring")

        def as_tuple(batch: Any) -> tuple[Any, ...]:
            found = self.form.parts(batch, "train_batches")
            targets = head_targets(found.targets, judged)
            return tuple(part for part in (found.inputs, targets, found.mask) if part is not None)

        return reanchor(
            model,
            ChangedBatches(bounded(self.batches, self.most), as_tuple),
            pooling=place,
            head=self.head,
            layout=self.layout,
            keepdim=self.keepdim,
            stride=self.stride,
        )
