"""An audit of trajectories as `crest.recordings` loads them: which are looked at, and what they are called."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from torch import Tensor

from crest._audit.result import Audit
from crest._base.recorded import Recorded, recorded
from crest.exchange.groups import groups_of
from crest.exchange.settings import settings_of
from crest.exchange.ties import condition_columns, tie_of
from crest.probes.foreign import as_function
from crest.strangers.recorded import inputs_of, rows_of

Auditing = TypeVar("Auditing", bound=Callable[..., Audit])


def taking_recorded(audit: Auditing) -> Auditing:
    """The audit, which takes loaded trajectories too: with their names, times, classes, events and groups.

    Of more trajectories than are looked at, those are taken that are spread evenly over all: they come file by file.
    """

    @functools.wraps(audit)
    def entered(model: Any, batches: Any, **options: Any) -> Audit:
        data = recorded(batches)
        return audit(model, batches, **options) if data is None else _audited(audit, model, data, options)

    return cast(Auditing, entered)


def _audited(audit: Callable[..., Audit], model: Any, data: Recorded, options: dict[str, Any]) -> Audit:
    model, count, given, notes = as_function(model, "model"), len(data.x), dict(options), list[str]()
    settings = settings_of(options.get("exchange"), options.get("invariant"))
    given["conditions"] = data.named_conditions(given.get("conditions"))
    data, rows = data.spread(settings.trajectories)
    inputs, given["channels_first"] = inputs_of(data, model, options.get("channels_first"))
    if given["conditions"] is not None:
        columns = condition_columns(given["conditions"], count)
        given["conditions"] = {
            name: [column[row] for row in rows.tolist()] for name, column in columns.items()
        }
    if given.get("groups") is not None:
        given["groups"] = groups_of(given["groups"], count)[rows]
    elif data.groups is not None:
        given["groups"] = data.groups
        notes.append(
            "intervals are over recordings or groups, whose trajectories are alike. Pass groups=range(N) for intervals over trajectories"
        )
    given["events"] = data.events if given.get("events") is None else rows_of(given["events"], rows, count)
    found = audit(model, (inputs, data.y), **given)
    if len(rows) < count:
        notes.append(
            f"{len(rows)} of {count} trajectories were looked at, spread evenly over all. Pass "
            "exchange=crest.ExchangeSettings(trajectories=...) to look at more"
        )
    found = dataclasses.replace(found, brought=count, notes=(*found.notes, *notes))
    return in_table_labels(found, data.labels).named(
        channels=data.channels,
        classes=data.classes if found.classes and len(data.classes) == len(found.classes) else None,
        trajectories=data.names or None,
        sample_rate=data.sample_rate,
    )


def in_table_labels(found: Audit, labels: Tensor) -> Audit:
    """The audit with target x condition in the labels of the table; standardised ones say nothing to a reader.

    Args:
        found: of standardised labels or of any others.
        labels: of the same trajectories, as in the table.
    """
    if found.tie is None or found.classes:
        return found
    # A shift and a scale keep the order, so rows are the same.
    names = tie_of(labels, [0] * len(labels)).targets
    if len(names) != len(found.tie.targets):
        return found
    return dataclasses.replace(found, tie=dataclasses.replace(found.tie, targets=names))
