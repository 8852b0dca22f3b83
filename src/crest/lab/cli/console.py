"""Where the command line prints: results to stdout, everything else to stderr."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

# A file has no width of its own. This one is wide enough for every table.
_WIDTH = None if sys.stdout.isatty() else 200

console = Console(soft_wrap=True, highlight=False, width=_WIDTH)
errors = Console(stderr=True, soft_wrap=True, highlight=False)

INTERRUPTED = 130
"""The exit status of a command that was ended by Ctrl-C, as shells have it."""
TRIAL = "A trial: these numbers mean nothing."
"""The sentence beside the numbers of a trial."""


def words_aside(aside: bool = True) -> None:
    """Print words to stderr from now on, so that stdout has one JSON and nothing else; False: to stdout again."""
    console.stderr = aside


def print_json(value: Mapping[str, object]) -> None:
    """Print a result as JSON to stdout. NaN and infinity, which JSON does not have, become null.

    Example:
        >>> print_json({"error": float("nan"), "folder": Path("results")})
        {
         "error": null,
         "folder": "results"
        }
    """
    sys.stdout.write(json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value
