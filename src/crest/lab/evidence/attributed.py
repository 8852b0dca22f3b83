"""What orders trained models by their error in the field: the exchange test, and attributions that are told the events."""

import dataclasses
import math
import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.stats import rankdata, spearmanr

from crest._base.rng import generator
from crest.exchange.two_way import Array
from crest.lab.evidence.experiment import Found
from crest.lab.evidence.names import named
from crest.lab.evidence.shown import BEYOND, Claim, Table
from crest.lab.runs.record import Record

# our choice: docs/evidence/choices.md#audit-answers
_AS_WELL = 0.1
_DRAWS = 300

ORDER_CLAIM = Claim(
    text="The exchange test orders the models by their error in the field at least as well as attributions that are told the events",
    paper=BEYOND,
)
"""What is claimed, before anything is measured."""


@dataclasses.dataclass(frozen=True)
class _Order:
    """A number that should rise with the error in the field."""

    name: str
    needs: str
    of: Callable[[Record], float]
    seconds: Callable[[Record], float]


def _part(exchanged: str, part: str) -> Callable[[Record], float]:
    return lambda record: getattr(getattr(record, exchanged), part)


def _off_events(method: str) -> Callable[[Record], float]:
    return lambda record: 1 - record.attributions[method].credit.ecm


def _took(method: str) -> Callable[[Record], float]:
    return lambda record: record.attributions[method].seconds


def _exchange_took(record: Record) -> float:
    return record.seconds["exchange"]


def _exchange_orders(words: str, exchanged: str) -> tuple[_Order, _Order, _Order]:
    return (
        _Order(
            f"{words}: share that does not follow the transient",
            "nothing",
            lambda record: 1 - _part(exchanged, "transient")(record),
            _exchange_took,
        ),
        _Order(
            f"{words}: how far the predictions move",
            "nothing",
            lambda record: _part(exchanged, "moved")(record) or math.inf,
            _exchange_took,
        ),
        _Order(f"{words}: error there", "ID labels", _part(exchanged, "exchanged_error"), _exchange_took),
    )


_BACKGROUNDS = _exchange_orders("exchange of backgrounds", "exchange")
_SPECTRA = _exchange_orders("exchange of spectra, the audit's", "spectral")
_ATTRIBUTIONS = {
    "integrated gradients": _Order(
        "captum, integrated gradients: share off the events",
        "events",
        _off_events("integrated_gradients"),
        _took("integrated_gradients"),
    ),
    "WinTSR": _Order(
        "tslens, WinTSR: share off the events", "events", _off_events("wintsr"), _took("wintsr")
    ),
}
_ORDERINGS = (*_SPECTRA, *_BACKGROUNDS, *_ATTRIBUTIONS.values())


def attributed(found: Found) -> dict[str, list[Record]]:
    """The records that have attributions, by system."""
    kept: dict[str, list[Record]] = {}
    for record in found.records.values():
        if record.attributions and record.exchange is not None and record.spectral is not None:
            kept.setdefault(record.spec.system, []).append(record)
    return kept


def _rank(order: _Order, records: Sequence[Record]) -> float:
    """Rank correlation; 0 if one of them does not vary, which orders nothing."""
    said, ood = [order.of(record) for record in records], [record.score.ood for record in records]
    return float(spearmanr(said, ood).statistic) if len(set(said)) > 1 and len(set(ood)) > 1 else 0.0


def order_table(by_system: Mapping[str, Sequence[Record]]) -> Table:
    """Rank correlations with the OOD error, and what they cost."""
    rows = [
        (
            order.name,
            order.needs,
            *(f"{_rank(order, records):.2f}" for records in by_system.values()),
            f"{statistics.median(order.seconds(record) for records in by_system.values() for record in records):.1f}",
        )
        for order in _ORDERINGS
    ]
    count = ", ".join(f"{len(records)} of {named(system)}" for system, records in by_system.items())
    return Table(
        name="attributions",
        caption=f"Rank correlation with the OOD error over the same trained models ({count}), and the median seconds that a "
        "model takes on one core: 128 trajectories for an exchange (timed with whole backgrounds), 64 for integrated gradients, 16 for WinTSR.",
        header=("what orders them", "it needs", *(named(system) for system in by_system), "seconds"),
        rows=tuple(rows),
    )


def judged_order(by_system: Mapping[str, Sequence[Record]]) -> Claim:
    """The verdict on the order of the models: with intervals by a bootstrap over models."""
    # The claim was named when whole backgrounds were exchanged.
    ours = _BACKGROUNDS[0]
    words, lows, gaps = [], [], []
    for system, records in by_system.items():
        for name, other in _ATTRIBUTIONS.items():
            gap = _rank(ours, records) - _rank(other, records)
            low, high = _gap_interval(ours, other, records)
            words.append(f"{named(system)}: {gap:+.2f} ({low:+.2f} to {high:+.2f}) to {name}")
            lows.append(low)
            gaps.append(gap)
    return ORDER_CLAIM.judged(
        "gap of the rank correlation of the share that does not follow the transient, whole backgrounds exchanged, 95 % over models; "
        + "; ".join(words),
        holds=min(lows) >= -_AS_WELL,
        partly=min(gaps) >= -_AS_WELL,
        bar=f"no interval below −{_AS_WELL:g} on either simulator",
        seeds=1,
    )


def _gap_interval(ours: _Order, other: _Order, records: Sequence[Record]) -> tuple[float, float]:
    """95 % interval of the difference of two rank correlations."""
    rows = generator(0, "attributed").integers(0, len(records), (_DRAWS, len(records)))
    first, second, ood = (
        np.array([of(record) for record in records])[rows]
        for of in (ours.of, other.of, lambda record: record.score.ood)
    )
    low, high = np.quantile(_ranks_agree(first, ood) - _ranks_agree(second, ood), [0.025, 0.975]).tolist()
    return low, high


def _ranks_agree(first: Array, second: Array) -> Array:
    """Rank correlation of each row; 0 if one does not vary."""
    ranks = [rankdata(values, axis=1) for values in (first, second)]
    one, two = (values - values.mean(1, keepdims=True) for values in ranks)
    scale = np.sqrt((one**2).sum(1) * (two**2).sum(1))
    agreement: Array = (one * two).sum(1) / np.where(scale > 0, scale, 1.0)
    return agreement
