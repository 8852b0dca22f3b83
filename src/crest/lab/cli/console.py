"""Where the command line prints: answers to stdout, everything else to stderr."""

import sys

from rich.console import Console

# A file has no width: room enough that no table is cut.
_WIDTH = None if sys.stdout.isatty() else 200

console = Console(soft_wrap=True, highlight=False, width=_WIDTH)
errors = Console(stderr=True, soft_wrap=True, highlight=False)

INTERRUPTED = 130
"""What a shell gives to a command that Ctrl-C ended."""
TRIAL = "A trial of the machinery: these numbers mean nothing."
"""What stands beside every number of a quick run."""
