"""Panels of exchange tests: how far each nuisance moves the predictions, and predicted against true."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from crest._base.order import natural_order
from crest._base.words import listed
from crest._pages.panels import (
    BarPanel,
    BarRow,
    Dot,
    Matrix,
    MatrixCell,
    MatrixPanel,
    PanelBar,
    ScatterPanel,
    ScatterView,
)
from crest.exchange.result import MOVES, Exchange, PredictionPairs
from crest.exchange.sensitivity import Sensitivity
from crest.nuisances import NAMES
from crest.probes.errors import are_classes

_DOTS = 300
"""Dots of a picture; of more trajectories some are drawn, from the first to the last."""
_CLASSES = 12
"""Classes of a picture at most."""
_ALL = "all declared"


def nuisance_panel(exchanges: Mapping[str, Exchange]) -> BarPanel | None:
    """How far each nuisance moves the predictions; declared ones first, then the others. None if nothing was measured."""
    tested = [one for one in exchanges.values() if one.varies]
    if not tested:
        return None
    first = tested[-1]
    there = [name for name in NAMES if any(name in one.nuisances for one in tested)]
    declared = [name for name in there if name in first.invariant]

    def bar(one: Sensitivity | None, *, judged: bool) -> PanelBar | None:
        if one is None or not math.isfinite(one.moved):
            return None
        return PanelBar(
            value=one.moved,
            low=one.moved_interval[0],
            high=one.moved_interval[1],
            above=judged and one.moved >= MOVES,
        )

    def row(name: str) -> BarRow:
        judged = name in declared
        return BarRow(
            name=name,
            bars=tuple(bar(one.nuisances.get(name), judged=judged) for one in exchanges.values()),
            note="" if judged else "not declared",
            faint=not judged,
        )

    together = BarRow(
        name=_ALL, bars=tuple(bar(one.together, judged=True) for one in exchanges.values()), strong=True
    )
    rows = [together] if any(together.bars) and len(declared) > 1 else []
    rows += [row(name) for name in [*declared, *(name for name in there if name not in declared)]]
    if not rows:
        return None
    return BarPanel(
        title="What moves the prediction",
        rows=tuple(rows),
        models=tuple(exchanges),
        unit="how far predictions move, in standard deviations; lines: 95 % intervals",
        line=MOVES,
        line_name=f"limit {MOVES:g}",
        caption=_moving_words(exchanges, declared),
    )


def _moving_words(exchanges: Mapping[str, Exchange], declared: Sequence[str]) -> str:
    """What is swapped, and what moves each model most: of what was declared, and of all if that is something else."""
    if not declared:
        return "Each is swapped between signals. Nothing was declared that the prediction must not depend on."
    told = []
    for model, one in exchanges.items():
        if not one.varies:
            told.append((model, "it is the same for every signal"))
            continue
        moved = {name: one.nuisances[name].moved for name in declared if name in one.nuisances}
        if moved:
            most = max(moved, key=lambda name: moved[name])
            of_all = max(one.nuisances, key=lambda name: one.nuisances[name].moved)
            words = f"{most} {'move' if most == 'tones' else 'moves'} it most, by {moved[most]:.2f}"
            if one.nuisances[of_all].moved > moved[most]:
                words = f"of what was declared, {words}, and of all {of_all}, by {one.nuisances[of_all].moved:.2f}"
            told.append((model, words))
    pale = (
        " Pale: not declared, and may move it."
        if any(set(one.nuisances) - set(declared) for one in exchanges.values())
        else ""
    )
    return f"Each is swapped between signals; the events stay. {per_model(told)} It must not depend on {listed(declared)}.{pale}"


def per_model(told: Sequence[tuple[str, str]]) -> str:
    """What is said of each model as a sentence; of one model without its name.

    Example:
        >>> per_model([("audit", "it is 1")]), per_model([("before", "it is 1"), ("after", "it is 2")])
        ('It is 1.', 'Before: it is 1; after: it is 2.')
    """
    if not told:
        return ""
    words = told[0][1] if len(told) == 1 else "; ".join(f"{model}: {one}" for model, one in told)
    return f"{words[0].upper()}{words[1:]}."


def values_of(told: Iterable[tuple[str, str]]) -> str:
    """The value of each model at the end of a sentence; of one model without its name.

    Example:
        >>> values_of([("audit", "1")]), values_of([("before", "1"), ("after", "2")])
        ('1.', 'before 1; after 2.')
    """
    found = list(told)
    words = found[0][1] if len(found) == 1 else "; ".join(f"{model} {value}" for model, value in found)
    return f"{words}."


def prediction_panel(
    exchanges: Mapping[str, Exchange],
    *,
    errors: Mapping[str, float | None],
    names: Sequence[str] = (),
    conditions: Sequence[Hashable] = (),
    classes: Sequence[str] = (),
) -> ScatterPanel | MatrixPanel | None:
    """Predicted against true on own and on exchanged signals; for classes two tables. None if that is not known.

    Args:
        exchanges: by the name of each model.
        errors: of each model on own signals, as it is told elsewhere too.
        names: what trajectories are called, by their place among the inputs.
        conditions: their conditions, in the same way.
        classes: names of the classes.
    """
    pairs = {name: one.predictions for name, one in exchanges.items() if one.predictions is not None}
    known = {
        name: pair for name, pair in pairs.items() if pair.targets is not None and pair.targets.ndim == 1
    }
    if not known:
        return None
    several = len(exchanges) > 1
    told = {name: (errors.get(name), exchanges[name].expected_error) for name in known}
    beside = "Error on own and on swapped signals: " + values_of(
        (name, " and ".join("unknown" if error is None else f"{error:.3g}" for error in both))
        for name, both in told.items()
    )
    if all(_single(pair) for pair in known.values()):
        groups = natural_order(dict.fromkeys(conditions)) if conditions else []
        views = [
            ScatterView(
                title=f"{name}, {what}" if several else what,
                dots=_dots(pair, predictions, names, conditions, groups),
                note="" if error is None else f"error {error:.3g}",
                model=list(exchanges).index(name) if several else 1,
            )
            for name, pair in known.items()
            for what, predictions, error in (
                ("own signals", pair.own, told[name][0]),
                ("swapped", pair.exchanged, told[name][1]),
            )
        ]
        shown = tuple(map(str, groups)) if len(groups) > 1 else ()
        return ScatterPanel(
            title="Predicted against true",
            views=tuple(views),
            groups=shown,
            group_title="condition:",
            caption=f"On the dashed line it is right. {beside}",
        )
    labels = classes or tuple(map(str, range(max(pair.own.shape[1] for pair in known.values()))))
    if len(labels) > _CLASSES or not all(_told_classes(pair) for pair in known.values()):
        return None
    return MatrixPanel(
        title="Predicted against true class",
        matrices=tuple(
            _confusion(
                predictions,
                pair,
                labels,
                (f"{name}, {what}" if several else what) + ("" if error is None else f": error {error:.3g}"),
            )
            for name, pair in known.items()
            for what, predictions, error in (
                ("own signals", pair.own, told[name][0]),
                ("swapped", pair.exchanged, told[name][1]),
            )
        ),
        # The table has one swap of each signal; the error is of several, as the bars tell it.
        caption=f"Share of each true class, each signal swapped once. {beside}",
    )


def _single(pair: PredictionPairs) -> bool:
    return pair.own.ndim == 1 or pair.own.shape[1] == 1


def _told_classes(pair: PredictionPairs) -> bool:
    return (
        not _single(pair) and pair.targets is not None and are_classes(pair.targets, int(pair.own.shape[1]))
    )


def _dots(
    pair: PredictionPairs,
    told: Tensor,
    names: Sequence[str],
    conditions: Sequence[Hashable],
    groups: Sequence[Hashable],
) -> tuple[Dot, ...]:
    assert pair.targets is not None
    place_of = {group: place for place, group in enumerate(groups)}
    rows = pair.rows.tolist()
    places = torch.linspace(0, len(rows) - 1, min(_DOTS, len(rows))).round().long().tolist()
    return tuple(
        Dot(
            x=float(pair.targets[place]),
            y=float(told.reshape(-1)[place]),
            group=place_of[conditions[rows[place]]] if conditions else 0,
            name=names[rows[place]] if names else f"trajectory {rows[place]}",
        )
        for place in places
    )


def _confusion(told: Tensor, pair: PredictionPairs, labels: Sequence[str], title: str) -> Matrix:
    assert pair.targets is not None
    true, found = pair.targets.long(), told.argmax(1)
    counts = torch.bincount(true * len(labels) + found, minlength=len(labels) ** 2)
    shares = counts.reshape(len(labels), -1).double()
    shares = shares / shares.sum(1, keepdim=True).clamp(min=1)
    return Matrix(
        title=title,
        corner="true",
        across="predicted",
        columns=tuple(labels),
        rows=tuple(
            (
                name,
                tuple(
                    MatrixCell(text=f"{100 * share:.0f} %" if share else "", shade=share, good=row == column)
                    for column, share in enumerate(shares[row].tolist())
                ),
            )
            for row, name in enumerate(labels)
        ),
    )
