"""The user's recordings as a system: windows of a table's signals in the three splits that a run needs."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crest._base import rng
from crest._base.doors import door_leaving
from crest.lab.systems.base import Sizes
from crest.recordings.contents import recordings_digest
from crest.recordings.gathering import gathered_recordings
from crest.recordings.loading import joined
from crest.recordings.options import Division, IdBy, RecordingOptions
from crest.recordings.splits import of_conditions, parts_of, split_rows
from crest.recordings.trajectories import Splits, Trajectories

MOST_WINDOWS = 10**9
"""As a size of a split: all windows that there are."""


@door_leaving("channels", "columns", "classes", "condition", "scale", "ood", "id")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordingsSystem(RecordingOptions):
    """Windows of recordings that a table lists; `ood` and `id` name conditions, or with `split` the cells of that column.

    Labels that are numbers get mean 0 and variance 1 on the training windows, so that errors of all runs compare. The other arguments are the fields of `RecordingOptions` and those of `split_by_condition`. The sizes of a run are the most
    windows that a split may have: those that there are come in random order. The seed also says which windows are held out for ID.
    """

    table: str | os.PathLike[str]
    folder: str | os.PathLike[str] | None = None
    content: str = ""
    """Names table and signals as `recordings_digest` does; others are then refused. Empty: any are taken."""
    ood: Sequence[str] = ()
    """Conditions that are OOD. None: the ID windows take their place, and there is no OOD result."""
    id: Sequence[str] = ()
    """Conditions that are ID. None: ID windows are held out of all that are not OOD."""
    id_by: IdBy = "block"
    id_fraction: float = 0.2
    gap: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._division(0)
        for name in ("ood", "id"):
            values = getattr(self, name)
            if not isinstance(values, list | tuple) or not all(isinstance(one, str) for one in values):
                raise ValueError(f"{name} must be a list of conditions, as text, got {values!r}")
            if values and self.split is not None:
                if list(values) != [name]:
                    raise ValueError(f"{name} must be ['{name}'] or empty with split, got {values!r}")
            elif values and self.condition is None:
                raise ValueError(f"condition must name the column of {', '.join(values)}, got None")
        both = sorted(set(self.ood) & set(self.id))
        if both:
            raise ValueError(f"id must name other conditions than ood, got {', '.join(both)} in both")

    def _division(self, seed: int) -> Division:
        return Division(
            id_by=self.id_by, id_fraction=self.id_fraction, gap=self.gap, seed=seed, standardise_labels=True
        )

    def digest(self) -> str:
        """Names what table and signals hold now."""
        folder = None if self.folder is None else Path(self.folder)
        return recordings_digest(Path(self.table), folder, file=self.file, events=self.events)

    def windows(self) -> Trajectories:
        """All windows, in the order of the table."""
        return joined(gathered_recordings(self.table, self.folder, self))

    def splits(self, seed: int, sizes: Sizes | None = None) -> Splits:
        """Training, ID and OOD windows of one seed, at most as many as `sizes` says, in random order."""
        if self.content and self.digest() != self.content:
            raise ValueError(
                f"table {str(self.table)!r} and its signals must be as they were when the run was named: they have changed "
                "since, so start it again"
            )
        return self.divided(self.windows(), seed, sizes)

    def divided(self, found: Trajectories, seed: int, sizes: Sizes | None = None) -> Splits:
        """These windows in the splits of one seed."""
        sizes = sizes or Sizes(train=MOST_WINDOWS, id=MOST_WINDOWS, ood=MOST_WINDOWS)
        if self.split is not None:
            is_ood, is_id = parts_of(found)
            # A spec says without the table whether there is anything OOD.
            for name, there in (("ood", is_ood.any()), ("id", is_id is not None)):
                if there != bool(getattr(self, name)):
                    raise ValueError(
                        f"{name} must be ['{name}'] if the column {self.split!r} has such rows, else empty, got {getattr(self, name)!r}"
                    )
        else:
            is_id = of_conditions(found, self.id, "id") if self.id else None
            is_ood = of_conditions(found, self.ood) if self.ood else np.zeros(len(found), dtype=np.bool_)
        if (is_ood if is_id is None else is_ood | is_id).all():
            raise ValueError("ood must leave recordings to train on, got none")
        splits = split_rows(found, is_ood, is_id, self._division(seed))
        # With nothing held out the same windows stand in both places.
        outside = ("ood", sizes.ood) if self.ood else ("id", sizes.id)
        return Splits(
            train=_drawn(splits.train, "train", sizes.train, seed),
            id=_drawn(splits.id, "id", sizes.id, seed),
            ood=_drawn(splits.ood, *outside, seed),
        )


def _drawn(part: Trajectories, name: str, most: int, seed: int) -> Trajectories:
    rows: npt.NDArray[Any] = rng.generator(seed, f"recordings/{name}").permutation(len(part))
    return part[rows[:most]]
