"""Repair without training the encoder: CREST on its features, the head fitted again in closed form."""

import contextlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from crest._base.arguments import require
from crest._base.doors import door
from crest._base.tensors import require_finite
from crest.readouts.config import CrestConfig
from crest.readouts.crest import CrestReadout
from crest.remedies.reanchored import BudgetChoice, Reanchored, TriedBudget
from crest.remedies.ridge import RidgeFit, fit_ridge
from crest.strangers import Layout, PoolingSlot, replace_pooling, slot_for
from crest.strangers.batch import BatchKeys, as_batches, read_batch
from crest.strangers.capture import InnerBatch, captured
from crest.strangers.implant import Implant, implant_readout
from crest.strangers.interface import Interface
from crest.strangers.model import part_at
from crest.strangers.pooling import find_place, is_known_pooling

CANDIDATE_BUDGETS: tuple[BudgetChoice, ...] = ("pooled", "trajectory", 0.05, 0.1, 0.2)
"""Budgets that `reanchor` tries. Our choice: docs/evidence/choices.md#reanchoring"""

PENALTIES = tuple(10.0 ** (half / 2) for half in range(-12, 7))
"""Penalties that `reanchor` tries, two to a decade. Our choice: docs/evidence/choices.md#reanchoring"""


@door
def reanchor(
    model: nn.Module,
    batches: Iterable[Any],
    *,
    pooling: str | Interface,
    head: str,
    budgets: Sequence[BudgetChoice] = CANDIDATE_BUDGETS,
    config: CrestConfig | None = None,
    penalties: Sequence[float] = PENALTIES,
    layout: Layout | None = None,
    keepdim: bool | None = None,
    keys: BatchKeys | None = None,
    **readout_options: Any,
) -> Reanchored:
    """Put CREST in the place of a trained model's pooling and fit its head again, in place; the encoder stays.

    Ridge regression from CREST's pooled vectors to the targets, for each budget and penalty; the lowest exact
    leave-one-out error decides, and nothing else. Seconds of work: the encoder runs twice over the batches, in
    evaluation mode and without gradients, and only pooled vectors are kept. If anything is refused, the model is as it was.

    Integer targets (N,) with a head of several outputs are class labels: the ridge then fits their one-hot form, as a linear
    classifier by least squares does, and the leave-one-out accuracy is reported beside the error. The new outputs are not
    the logits of a likelihood.

    Costs ID error, since the encoder was trained for another pooling; training with CREST from the start is better
    if that can be done.

    Args:
        model: any module whose head reads the pooled vector as it is and gives the prediction.
        batches: (inputs, targets), (inputs, targets, mask), (inputs, targets, lengths) or a dict each; a list or a
            `DataLoader`, since it is read twice. Targets are (B,) or (B, K). The model is called with inputs and, if
            there is one, the mask (B, T) or the lengths. If a layer pools, the model must hand the mask to that layer.
        pooling: path of the pooling layer, as `model.named_modules()` lists it. If a line of `forward` pools, such as
            `f.mean(-1)` or `h[:, -1]`, the path of the module whose output it pools: CREST then stands in front of the head. Or an `Interface` that says where
            features and head are.
        head: path of the head, a `torch.nn.Linear` with a bias.
        budgets: to choose from; "pooled" is calibrated on the same batches.
        config: CREST's constants.
        penalties: to choose from, positive; in units of the mean square of a standardised channel.
        layout: how the pooling layer is called, as in `crest.replace_pooling`.
        keepdim: whether it keeps a time axis of length one, as in `crest.replace_pooling`.
        keys: of inputs, targets and mask, if the batches are dicts with other names than the usual ones.
        readout_options: further options of `crest.CrestReadout`, the same for every budget.

    Example:
        >>> _ = torch.manual_seed(1000)
        >>> model = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1))
        >>> x, y = 0.1 * torch.randn(64, 1, 200), torch.rand(64)
        >>> x[:, 0, 100:104] += y.unsqueeze(1)
        >>> found = reanchor(model, [(x[:32], y[:32]), (x[32:], y[32:])], pooling="2", head="4")
        >>> found.error < found.before, len(found.tried)
        (True, 5)
    """
    path = pooling.features if isinstance(pooling, Interface) else pooling
    layer, linear = part_at(model, "pooling", path), part_at(model, "head", head)
    if not isinstance(linear, nn.Linear) or linear.bias is None:
        got = "one without" if isinstance(linear, nn.Linear) else type(linear).__name__
        raise ValueError(f"head must name a torch.nn.Linear with a bias, got {head!r}: {got}")
    batches = as_batches(batches)
    if isinstance(batches, Iterator):
        raise ValueError("batches must be a list or a DataLoader, which can be read twice, got an iterator")
    for name, values in (("budgets", budgets), ("penalties", penalties)):
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise ValueError(f"{name} must be a list or a tuple of values to choose from, got {values!r}")
    for penalty in penalties:
        require("penalties", penalty, "be positive")

    def made(budget: BudgetChoice) -> CrestReadout:
        return CrestReadout(budget, config=config, **readout_options).eval().to(linear.weight.device)

    readouts = [made(budget) for budget in budgets]
    between = pooling if isinstance(pooling, Interface) else _between(model, batches, path, head, keys)
    slot: PoolingSlot | Implant
    if between is None:
        slot = slot_for(layer, path, readouts[0], layout=layout, keepdim=keepdim, argument="pooling")
    else:
        slot = Implant(readouts[0], between, model)

    # Closed at once where something is refused: until then the model has hooks and is in evaluation mode.
    def one_pass() -> contextlib.closing[Generator[InnerBatch, None, None]]:
        return contextlib.closing(captured(model, batches, pooling=path, head=head, slot=slot, keys=keys))

    # Whatever a readout remembers from calibration, all budgets learn it in one pass.
    if any(readout.state_dict() for readout in readouts):
        with one_pass() as passing:
            learned = made("pooled").calibrate((seen.features, seen.mask) for seen in passing).state_dict()
        for readout in readouts:
            readout.load_state_dict({name: learned[name] for name in readout.state_dict()})
    with one_pass() as passing:
        vectors, targets, answers, direct = _pooled(readouts, passing)
    wanted, labels = _wanted(targets, linear.out_features)
    if labels is None and not direct:
        raise ValueError("head must give the model's prediction: here the model changes what the head gives")
    fits = [fit_ridge(rows, wanted, penalties) for rows in vectors]
    tried = tuple(
        TriedBudget(
            budget=budget, penalty=fit.penalty, error=fit.error, accuracy=_accuracy(fit.left_out, labels)
        )
        for budget, fit in zip(budgets, fits, strict=True)
    )
    best = min(range(len(tried)), key=lambda place: tried[place].error)
    if between is None:
        replace_pooling(model, path, readouts[best], layout=layout, keepdim=keepdim, warn=False)
    else:
        implant_readout(model, readouts[best], between)
    _write(linear, fits[best])
    return Reanchored(
        chosen=tried[best],
        tried=tried,
        trajectories=len(wanted),
        before=float((answers - wanted).square().mean().sqrt()) if labels is None else None,
        accuracy_before=_accuracy(answers, labels),
    )


def _between(
    model: nn.Module, batches: Iterable[Any], path: str, head: str, keys: BatchKeys | None
) -> Interface | None:
    """Where features and head are if a line of `forward` pools what the module at this path gives; None if it pools itself."""
    if is_known_pooling(model.get_submodule(path)):
        return None
    batch = next(iter(batches), None)
    try:
        found = find_place(model, read_batch(batch, keys=keys), path, head=head)
    except ValueError:
        # What is wrong is told by the layer itself, or by the batches.
        return None
    return found if isinstance(found, Interface) else None


def _pooled(
    readouts: Sequence[CrestReadout], passing: Iterable[InnerBatch]
) -> tuple[list[Tensor], Tensor, Tensor, bool]:
    """The pooled vectors (N, D) of each readout, the targets, the model's own predictions, and whether these are the head's."""
    vectors: list[list[Tensor]] = [[] for _ in readouts]
    targets, answers, direct = [], [], True
    for seen in passing:
        for rows, readout in zip(vectors, readouts, strict=True):
            rows.append(readout(seen.features, seen.mask).to("cpu", torch.float64))
        targets.append(seen.targets.cpu())
        answers.append(seen.answers.to("cpu", torch.float64))
        direct = direct and seen.direct
    trajectories = sum(map(len, targets))
    if trajectories < 2:
        raise ValueError(
            f"batches must hold at least two trajectories, which leave-one-out needs, got {trajectories}"
        )
    return [torch.cat(rows) for rows in vectors], torch.cat(targets), torch.cat(answers), direct


def _wanted(targets: Tensor, outputs: int) -> tuple[Tensor, Tensor | None]:
    """What the head should give (N, K), and the class labels (N,) if that is what the targets are."""
    rows = len(targets)
    whole = not (targets.is_floating_point() or targets.is_complex())
    if whole and outputs > 1 and targets.shape in {(rows,), (rows, 1)}:
        labels = targets.reshape(-1).to(torch.int64)
        if labels.amin() < 0 or labels.amax() >= outputs:
            raise ValueError(
                f"targets must be class labels from 0 to {outputs - 1}, as the head has {outputs} outputs, "
                f"got {int(labels.amin())} to {int(labels.amax())}"
            )
        return nn.functional.one_hot(labels, outputs).to(torch.float64), labels
    if targets.shape != (rows, outputs) and not (outputs == 1 and targets.shape == (rows,)):
        raise ValueError(
            f"targets must have shape (N, K) = {(rows, outputs)}, or (N,) if K is 1, got {tuple(targets.shape)}"
        )
    wanted = targets.to(torch.float64).reshape(rows, outputs)
    require_finite("targets", wanted)
    return wanted, None


def _accuracy(answers: Tensor, labels: Tensor | None) -> float | None:
    return None if labels is None else float((answers.argmax(1) == labels).to(torch.float64).mean())


@torch.no_grad()
def _write(head: nn.Linear, fit: RidgeFit) -> None:
    head.weight.copy_(fit.weight)
    head.bias.copy_(fit.bias)
