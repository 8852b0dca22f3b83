"""What windows of recordings are called on pages and in tables."""

import math
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt


def window_names(extra: Mapping[str, npt.NDArray[Any]], rate: float | None, *, whole: bool) -> list[str]:
    """What each window is called: its file, when it starts, and its condition, as far as they are known.

    Args:
        extra: with `file`, `start` and perhaps `condition`.
        rate: samples per second; starts are told in samples without it.
        whole: whether each window is a whole recording, which has no start to tell.

    Example:
        >>> import numpy as np
        >>> extra = {"file": np.array(["a.npy"] * 2), "start": np.array([0, 500]), "condition": np.array(["900", "900"])}
        >>> window_names(extra, 1000.0, whole=False)
        ['a.npy, 0 s, 900', 'a.npy, 0.5 s, 900']
    """
    # So many digits keep samples apart, however late they are.
    digits = 0 if rate is None else max(0, math.ceil(math.log10(rate)))
    names = []
    for place, (file, start) in enumerate(zip(extra["file"].tolist(), extra["start"].tolist(), strict=True)):
        when = f"sample {start}" if rate is None else f"{_plain(start / rate, digits)} s"
        condition = extra["condition"][place] if "condition" in extra else ""
        parts = [file, "" if whole else when, str(condition)]
        names.append(", ".join(part for part in parts if part))
    return names


def _plain(value: float, digits: int) -> str:
    """The number with so many digits behind the point, without zeros at its end."""
    told = f"{value:.{digits}f}"
    return told.rstrip("0").rstrip(".") if digits else told
