"""The type of what calls a command: see the fixture `crest`."""

from collections.abc import Callable

Command = Callable[..., tuple[str, int]]
