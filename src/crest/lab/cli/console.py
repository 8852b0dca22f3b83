"""Where the command line prints: answers to stdout, everything else to stderr."""

import sys

from rich.console import Console

# A file has no width of its own. This one is wide enough for every table.
_WIDTH = None if sys.stdout.isatty() else 200

console = Console(soft_wrap=True, highlight=False, width=_WIDTH)
errors = Console(stderr=True, soft_wrap=True, highlight=False)

INTERRUPTED = 130
"""The exit status of a command that was ended by Ctrl-C, as shells have it."""
TRIAL = "A trial of the machinery: these numbers mean nothing."
"""The sentence beside the numbers of a trial."""
