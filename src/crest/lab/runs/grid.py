"""`grid` writes down many runs at once."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from crest.lab.runs.spec import RunSpec


def grid(*variants: Sequence[Mapping[str, Any]], **axes: Any) -> tuple[RunSpec, ...]:
    """Every combination of the axes, as specs; the last axis varies fastest.

    Args:
        *variants: lists of fields that change together, such as a readout with its options.
        **axes: a field of `RunSpec` each, with one value or a list, tuple or range of them.

    Example:
        >>> runs = grid([{"readout": "mean"}, {"readout": "crest"}], system="gear", seed=range(1000, 1002))
        >>> [(spec.readout, spec.seed) for spec in runs]
        [('mean', 1000), ('mean', 1001), ('crest', 1000), ('crest', 1001)]
    """
    named = [
        [{name: value} for value in (values if isinstance(values, list | tuple | range) else [values])]
        for name, values in axes.items()
    ]
    combinations = itertools.product(*variants, *named)
    return tuple(
        RunSpec(**{key: value for part in parts for key, value in part.items()}) for parts in combinations
    )
