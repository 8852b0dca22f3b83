"""Train kept runs again and compare: does this machine give the numbers of the records?"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

from crest._base import rng
from crest._base.arguments import require
from crest._base.files import held_folder
from crest.lab.encoders import OWN
from crest.lab.evaluation import Score
from crest.lab.runs.executors import RunExecutor
from crest.lab.runs.record import Record, Shares
from crest.lab.runs.store import Store
from crest.lab.runs.sweep import Listener, sweep
from crest.lab.systems import CwruSystem, make_system
from crest.lab.systems.public import DATA_SETS
from crest.lab.systems.public_files import PublicFile, RecordingFileError, require_files
from crest.lab.systems.recordings import RecordingsSystem
from crest.probes import CreditMeans
from crest.probes.result import LABELS

# Two runs count as equal within these; our choice: docs/evidence/choices.md#tolerance
RELATIVE_ERROR = 0.05
ABSOLUTE_ERROR = 0.01
CREDIT = 0.05

_CREDIT = {**LABELS, "chance": "chance level"}
# A message names at most this many runs; more of them tell nothing new.
_NAMED = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """A kept record beside its run done again."""

    kept: Record
    new: Record | None
    """None if the run failed."""
    differences: list[str]
    """What does not agree, in words."""

    @property
    def agrees(self) -> bool:
        """Whether the same came out."""
        return not self.differences


def differences(kept: Record, new: Record) -> list[str]:
    """What differs by more than the tolerance between two records of one run, in words; empty if they agree.

    Errors may differ by 5 % of the kept one or by 0.01, whichever is more, credit, budget and shares by 0.05.
    """
    if kept.id != new.id:
        raise ValueError(f"new must be a record of the run {kept.id}, got {new.id}")
    found: list[str] = []
    for split in ("id", "ood"):
        found += _errors_apart(f"{split.upper()} error", kept.score, new.score, split)
        found += _credit_apart(split.upper(), kept.credit.get(split), new.credit.get(split))
        if split in kept.budget and split in new.budget:
            then, now = kept.budget[split].epsilon, new.budget[split].epsilon
            found += _apart(f"{split.upper()} budget", then, now, CREDIT)
        if split in kept.macro_f1 and split in new.macro_f1:
            found += _apart(f"{split.upper()} macro-F1", kept.macro_f1[split], new.macro_f1[split], CREDIT)
    found += _credit_apart("saliency:", kept.saliency, new.saliency)
    for method in sorted({*kept.attributions, *new.attributions}):
        pair = [
            part[method].credit if method in part else None for part in (kept.attributions, new.attributions)
        ]
        found += _credit_apart(f"{method}:", *pair)
    found += _shares_apart("exchange", kept.exchange, new.exchange)
    # Records from before spectra were exchanged have none to compare with.
    if kept.spectral is not None:
        found += _shares_apart("exchange of spectra", kept.spectral, new.spectral)
    before, after = kept.reanchored, new.reanchored
    if before is not None and after is not None:
        for split in ("id", "ood"):
            found += _errors_apart(f"re-anchored {split.upper()} error", before.score, after.score, split)
        found += _shares_apart("re-anchored exchange", before.exchange, after.exchange)
    elif before is not after:
        found.append(f"the re-anchored model is in the {'new' if before is None else 'kept'} record alone")
    for source in kept.deletion.keys() & new.deletion.keys():
        pairs = zip(kept.deletion[source].errors, new.deletion[source].errors, strict=True)
        for then, now in pairs:
            allowed = max(RELATIVE_ERROR * then, ABSOLUTE_ERROR)
            found += _apart(f"error without steps by {source}", then, now, allowed)
    return found


def _errors_apart(name: str, kept: Score, new: Score, split: str) -> list[str]:
    then, now = getattr(kept, split), getattr(new, split)
    return _apart(name, then, now, max(RELATIVE_ERROR * then, ABSOLUTE_ERROR))


def _shares_apart(name: str, kept: Shares | None, new: Shares | None) -> list[str]:
    if kept is None or new is None:
        return [] if kept is new else [f"{name} is in the {'new' if kept is None else 'kept'} record alone"]
    then, now = dataclasses.asdict(kept), dataclasses.asdict(new)
    # Older records do not have every field; an interval's ends vary more than what it is about.
    known = [field for field in then if isinstance(then[field], float) and isinstance(now[field], float)]
    return [
        text
        for field in known
        for text in _apart(f"{name}: {field.replace('_', ' ')}", then[field], now[field], CREDIT)
    ]


def _credit_apart(split: str, kept: CreditMeans | None, new: CreditMeans | None) -> list[str]:
    if kept is None and new is None:
        return []
    if kept is None or new is None:
        return [f"{split} credit is in the {'new' if kept is None else 'kept'} record alone"]
    return [
        text
        for part, name in _CREDIT.items()
        for text in _apart(f"{split} {name}", getattr(kept, part), getattr(new, part), CREDIT)
    ]


def _apart(name: str, kept: float, new: float, allowed: float) -> list[str]:
    if abs(new - kept) < allowed:
        return []
    return [f"{name} was {kept:.4f} and is {new:.4f}: not within {allowed:.4f}"]


def surroundings(kept: Record, new: Record) -> list[str]:
    """Versions and processor that differ between two records, in words: where to look for the reason."""
    return [
        f"{name} was {kept.versions.get(name, 'not noted')} and is {now}"
        for name, now in new.versions.items()
        if kept.versions.get(name) != now
    ]


def readable(store: Store) -> list[Record]:
    """The records of a store by id; a ValueError names those whose defaults have changed since."""
    records = [store.read(name) for name in sorted(store.ids())]
    if not records:
        raise ValueError(f"folder must have the records of runs, got none in {store.folder}")
    stale = [record.id for record in records if record.stale]
    if stale:
        more = f" and {len(stale) - _NAMED} more" if len(stale) > _NAMED else ""
        raise ValueError(
            f"records must be of the defaults as they are now, got {len(stale)} of {len(records)} in "
            f"{store.folder} that are of other defaults: {', '.join(stale[:_NAMED])}{more}. Move their files away or remove "
            "their lines, and do their runs again with `crest run`, or verify them with the commit that they name"
        )
    return records


def with_data(records: Iterable[Record]) -> tuple[list[Record], dict[str, str]]:
    """The records whose data are here, and why those of the others are not, by id.

    Simulated data are everywhere; recordings only on machines that have them.
    """
    # Looking means reading every recording: once for all runs that share them.
    look = functools.cache(_missing)
    here: list[Record] = []
    absent: dict[str, str] = {}
    for record in records:
        spec = record.spec
        system = make_system(spec.system, spec.regime, **spec.system_options)
        if spec.encoder == OWN:
            reason: str | None = "its encoder is user code, which verify does not run"
        elif isinstance(system, RecordingsSystem):
            reason = _changed(system)
        elif spec.system in DATA_SETS:
            # Some runs read only some of the bearings.
            files = system.recordings if isinstance(system, CwruSystem) else DATA_SETS[spec.system].files
            reason = look(spec.system, getattr(system, "folder", None), files)
        else:
            reason = None
        if reason is None:
            here.append(record)
        else:
            absent[record.id] = reason
    return here, absent


def _changed(system: RecordingsSystem) -> str | None:
    try:
        same = system.digest() == system.content
    except (OSError, ValueError) as error:
        return str(error)
    return None if same else f"table {str(system.table)!r} and its signals are not what the run was named by"


def _missing(data_set: str, folder: Path | str | None, files: tuple[PublicFile, ...]) -> str | None:
    try:
        require_files(dataclasses.replace(DATA_SETS[data_set], files=files), folder)
    except RecordingFileError as error:
        return str(error)
    return None


def drawn(records: Sequence[Record], sample: int, seed: int) -> list[Record]:
    """So many of the records at random, or all if there are fewer; the same ones for the same seed."""
    require("sample", sample, "be a whole number, 1 or more")
    order = rng.generator(seed, "verify").permutation(len(records))
    return [records[place] for place in order[:sample]]


def cheapest(records: Sequence[Record], sample: int) -> list[Record]:
    """So many of the records, those whose runs took the least time, or all if there are fewer."""
    require("sample", sample, "be a whole number, 1 or more")
    return sorted(records, key=lambda record: (sum(record.seconds.values()), record.id))[:sample]


def verify(
    records: Sequence[Record], executor: RunExecutor, *, listener: Listener | None = None
) -> list[Check]:
    """Do the runs of the records again and compare, in the order given; the new records are not kept.

    Args:
        records: what to look at, not stale.
        executor: where to run.
        listener: hears what happens.
    """
    with held_folder("crest-verify-") as folder:
        store = Store(folder)
        sweep([record.spec for record in records], store, executor, listener=listener)
        return [_check(record, store) for record in records]


def _check(kept: Record, store: Store) -> Check:
    if kept.id not in store:
        reason = (store.failure(kept.id).strip().splitlines() or ["no reason was noted"])[-1]
        return Check(kept=kept, new=None, differences=[f"its run fails here: {reason}"])
    new = store.read(kept.id)
    return Check(kept=kept, new=new, differences=differences(kept, new))
