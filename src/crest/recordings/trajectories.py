"""The common form of all data: trajectories with labels, events and the smooth proxy, in three splits."""

import dataclasses
import math
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch

from crest._base.arguments import require_fields, require_shape
from crest._base.doors import door
from crest._base.floats import Floats
from crest.recordings.names import window_names
from crest.recordings.options import RecordingOptions


class Tensors(NamedTuple):
    """Trajectories for torch."""

    x: torch.Tensor
    y: torch.Tensor
    events: torch.Tensor | None
    proxy: torch.Tensor | None


@door
@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Trajectories:
    """N trajectories of T steps and C channels, with one label each.

    Args:
        x: Signals (N, T, C), finite.
        y: Labels (N,), finite.
        events: True on event steps (N, T); None if they are not known.
        proxy: The smooth cue of each trajectory (N,), such as its speed level; None if there is none.
        sample_rate: Samples per unit of time, as the source says which.
        channels: One name per channel.
        source: What these are and how they were made, for people.
        classes: If `y` holds numbers of classes, their names in this order; else empty.
        extra: Further arrays with one row per trajectory, by name (a core mask, a recording's number).
        options: How recordings were read, if these are recordings. `options.save` writes them beside a model, so that others are
            read in the same way.

    Example:
        >>> data = Trajectories(x=np.zeros((3, 8, 1)), y=np.arange(3.0), sample_rate=10.0, channels=("a",))
        >>> len(data), data[1:].y.tolist()
        (3, [1.0, 2.0])
    """

    x: Floats
    y: Floats
    events: npt.NDArray[np.bool_] | None = None
    proxy: Floats | None = None
    sample_rate: float
    channels: tuple[str, ...]
    source: str = ""
    classes: tuple[str, ...] = ()
    extra: dict[str, npt.NDArray[Any]] = dataclasses.field(default_factory=dict)
    options: RecordingOptions | None = None

    def __post_init__(self) -> None:
        require_shape("x", self.x, "(N, T, C)", (None, None, None))
        n, steps, width = self.x.shape
        require_shape("y", self.y, "(N,)", (n,))
        require_fields(self, "be finite", "x", "y")
        if self.events is not None:
            require_shape("events", self.events, "(N, T)", (n, steps))
            if self.events.dtype != np.bool_:
                raise ValueError(f"events must be boolean, got {self.events.dtype}")
        if self.proxy is not None:
            require_shape("proxy", self.proxy, "(N,)", (n,))
            require_fields(self, "be finite", "proxy")
        if len(self.channels) != width:
            raise ValueError(f"channels must name the {width} channels of x, got {self.channels}")
        require_fields(self, "be positive", "sample_rate")
        if self.classes and not np.isin(self.y, np.arange(len(self.classes))).all():
            raise ValueError(f"y must hold numbers of the {len(self.classes)} classes, got others")
        for name, array in self.extra.items():
            if len(array) != n:
                raise ValueError(f"extra[{name!r}] must have {n} rows, as x has, got {len(array)}")

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: slice | list[int] | npt.NDArray[Any]) -> "Trajectories":
        """The chosen trajectories: a slice, a list of indices or a boolean mask."""
        if np.ndim(cast("npt.ArrayLike", rows)) == 0 and not isinstance(rows, slice):
            raise ValueError(f"rows must be a slice, a list or a mask, got {rows}: use [{rows}:{rows} + 1]")
        return dataclasses.replace(
            self,
            x=self.x[rows],
            y=self.y[rows],
            events=None if self.events is None else self.events[rows],
            proxy=None if self.proxy is None else self.proxy[rows],
            extra={name: array[rows] for name, array in self.extra.items()},
        )

    @property
    def names(self) -> list[str]:
        """What each is called: its file, when it starts and its condition, as far as they are known; none without files.

        Example:
            >>> extra = {"file": np.array(["a.npy"] * 2), "start": np.array([0, 4]), "condition": np.array(["900"] * 2)}
            >>> Trajectories(x=np.zeros((2, 4, 1)), y=np.zeros(2), sample_rate=8.0, channels=("a",), extra=extra).names
            ['a.npy, 0 s, 900', 'a.npy, 0.5 s, 900']
        """
        if not {"file", "start"} <= self.extra.keys():
            return []
        return window_names(self.extra, self.sample_rate, whole=not self.extra["start"].any())

    @property
    def conditions(self) -> dict[str, list[Any]] | list[Any] | None:
        """The operating condition of each, as `crest.audit` and `crest.cues` take it: by column if there are several."""
        columns = () if self.options is None else self.options.conditions
        if len(columns) > 1:
            return {column: self.extra[column].tolist() for column in columns}
        return list(self.extra["condition"].tolist()) if columns else None

    def tensors(self) -> Tensors:
        """Signals, labels, events and proxy as torch tensors, the numbers in float32."""
        return Tensors(
            torch.tensor(self.x, dtype=torch.float32),
            torch.tensor(self.y, dtype=torch.float32),
            None if self.events is None else torch.tensor(self.events),
            None if self.proxy is None else torch.tensor(self.proxy, dtype=torch.float32),
        )

    def __repr__(self) -> str:
        n, steps, width = self.x.shape
        parts = [f"{n} x {steps} steps x {width} channels ({', '.join(self.channels)})"]
        parts += [] if self.options is None else [self.options.units]
        parts += [f"classes {', '.join(self.classes)}"] if self.classes else []
        parts += [] if self.events is None else [f"event fraction {self.events.mean():.3f}"]
        parts += (
            [] if self.proxy is None or n < 2 else [f"corr(y, proxy) {correlation(self.y, self.proxy):.2f}"]
        )
        return f"Trajectories({'; '.join(parts)})"


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class Splits:
    """Training, in-distribution and out-of-distribution trajectories of one system and seed."""

    train: Trajectories
    id: Trajectories
    ood: Trajectories

    def __post_init__(self) -> None:
        for name in ("id", "ood"):
            other: Trajectories = getattr(self, name)
            if other.classes != self.train.classes:
                raise ValueError(
                    f"{name} must have the classes of train, {self.train.classes}, got {other.classes}"
                )
            if other.channels != self.train.channels or other.x.shape[1:] != self.train.x.shape[1:]:
                raise ValueError(
                    f"{name} must have the steps and channels of train, {self.train.x.shape[1:]} "
                    f"{self.train.channels}, got {other.x.shape[1:]} {other.channels}"
                )


def correlation(a: Floats, b: Floats) -> float:
    """Pearson's correlation; NaN if one side does not vary.

    Example:
        >>> correlation(np.array([0.0, 1.0, 2.0]), np.array([5.0, 3.0, 1.0]))
        -1.0
    """
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return round(float(np.corrcoef(a, b)[0, 1]), 12)
