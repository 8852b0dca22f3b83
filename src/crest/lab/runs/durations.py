"""How long runs take: what those that are done took, and from it how long those that are left will take."""

import collections
import contextlib
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from crest._base.plain_json import read_json
from crest.lab.runs.naming import canonical_json
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store

Took: TypeAlias = Mapping[str, list[float]]
"""Seconds of runs, by kind."""
_DATA = ("system", "regime", "encoder", "sizes")
_MODEL = ("readout", "readout_options", "objective", "objective_options", "front", "remedy", "remedy_options")
_APART = {"system_options": ("table", "folder"), "encoder_options": ("place", "content")}
"""Options that have no part in how long a run takes: where files lie, and what is written in that of an encoder."""


def seconds_of(parts: Mapping[str, float]) -> float:
    """The whole time of a run from the times of its parts. The exchange is a part of the measuring, and counts once.

    Example:
        >>> seconds_of({"data": 1.0, "training": 5.0, "measuring": 2.0, "exchange": 1.5})
        8.0
    """
    return sum(value for name, value in parts.items() if name != "exchange")


def run_kinds(fields: Mapping[str, Any]) -> tuple[str, str]:
    """The kinds of a run, the narrow one first: the same run of another seed, and the same encoder on the same data.

    Args:
        fields: of a spec, as `RunSpec.to_dict` gives them or as a record holds them.
    """
    schedule = fields.get("schedule") or {}
    data = {name: fields.get(name) for name in _DATA}
    data |= {name: schedule.get(name) for name in ("epochs", "batch")}
    for name, apart in _APART.items():
        data[name] = {key: value for key, value in (fields.get(name) or {}).items() if key not in apart}
    # Some trajectories step by step take no time to speak of, and only the first seed of a study has them.
    data["measures"] = [one for one in fields.get("measures", ()) if one != "traces"]
    # Options at their defaults may be missing, as a front is in records from before there was one.
    model = {name: fields[name] for name in _MODEL if fields.get(name) not in (None, "none", {})}
    return canonical_json([data, model]), canonical_json(data)


def kept_seconds(store: Store) -> dict[str, list[float]]:
    """What the kept records of a folder took, by kind. Records are read as plain JSON: a damaged one is left out here."""
    took: dict[str, list[float]] = collections.defaultdict(list)
    for content in _contents(store):
        try:
            fields = read_json(content)
            seconds, kinds = seconds_of(fields["seconds"]), run_kinds(fields["spec"])
        except (ValueError, KeyError, TypeError, AttributeError):
            # What is wrong with the record is told when the record itself is read.
            continue
        for kind in kinds:
            took[kind].append(seconds)
    return took


def _contents(store: Store) -> Iterator[bytes]:
    for name in sorted(store.unpacked()):
        yield store.path(name).read_bytes()
    # Without lines if the file is damaged: who reads its records is told.
    with contextlib.suppress(ValueError):
        yield from store.packed.lines().values()


class TimeLeft:
    """How long the runs that are left will take.

    A run is expected to take as long as the runs of its kind that this sweep did. If there are none, it takes as long as kept
    records of its kind, times how much slower or faster this sweep was so far; if there are none either, the mean of this sweep.

    Args:
        specs: what is to be done.
        kept: what `kept_seconds` gives.
        slots: how many runs are done at a time.
        clock: seconds since some time.

    Example:
        >>> specs = [RunSpec(system="gear", readout="mean", seed=seed) for seed in (1000, 1001, 1002)]
        >>> left = TimeLeft(specs)
        >>> left.words()
        'time left unknown until the first run is done'
        >>> left.settled(specs[0].id, took=90.0)
        >>> left.words()
        'about 3 min left'
    """

    def __init__(
        self,
        specs: Iterable[RunSpec],
        kept: Took | None = None,
        slots: Callable[[], int] = lambda: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kinds = {spec.id: run_kinds(spec.to_dict()) for spec in specs}
        self._kept = kept or {}
        self._slots = slots
        self._clock = clock
        self._open: set[str] = set(self._kinds)
        self._since: dict[str, float] = {}
        self._own: dict[str, list[float]] = collections.defaultdict(list)
        self._done: dict[str, float] = {}

    def started(self, run_id: str) -> None:
        """It is being done."""
        self._since[run_id] = self._clock()

    def settled(self, run_id: str, took: float | None = None) -> None:
        """It needs no more time; `took` if this sweep did it."""
        self._open.discard(run_id)
        self._since.pop(run_id, None)
        if took is not None and run_id in self._kinds:
            self._done[run_id] = took
            for kind in self._kinds[run_id]:
                self._own[kind].append(took)

    def record(self, record: Record) -> None:
        """This sweep did it."""
        self.settled(record.id, seconds_of(record.seconds))

    def seconds(self) -> float | None:
        """Seconds until all is done; None while nothing is known of some run."""
        now, speed = self._clock(), self._speed()
        left = []
        for name in self._open:
            expected = self._expected(name, speed)
            if expected is None:
                return None
            left.append(max(expected - (now - self._since.get(name, now)), 0.0))
        # Several at a time, but the longest of them takes its time.
        return max(sum(left) / max(self._slots(), 1), max(left, default=0.0))

    def words(self) -> str:
        """The time left in words, and where it is known from while nothing is done."""
        seconds = self.seconds()
        if seconds is None:
            return "time left unknown until the first run is done"
        return f"about {time_in_words(seconds)} left{'' if self._done else ', estimated from kept records of similar runs'}"

    def _speed(self) -> float:
        """How many times as long as the kept records of their kinds this sweep's runs took."""
        ours = theirs = 0.0
        for name, took in self._done.items():
            kept = next((self._kept[kind] for kind in self._kinds[name] if self._kept.get(kind)), None)
            if kept is not None:
                ours, theirs = ours + took, theirs + statistics.fmean(kept)
        return ours / theirs if theirs > 0 else 1.0

    def _expected(self, name: str, speed: float) -> float | None:
        for kind in self._kinds[name]:
            for took, factor in ((self._own, 1.0), (self._kept, speed)):
                if took.get(kind):
                    return statistics.fmean(took[kind]) * factor
        return statistics.fmean(self._done.values()) if self._done else None


def time_in_words(seconds: float) -> str:
    """A time that is easily read.

    Example:
        >>> [time_in_words(one) for one in (0.2, 42, 130, 4000, 200_000)]
        ['1 s', '42 s', '2 min', '1 h 7 min', '2 d 8 h']
    """
    whole = max(round(seconds), 1)
    if whole < 100:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"
