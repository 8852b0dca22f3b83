"""Words of sentences that are made of values."""

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    Example:
        >>> listed(["offset"]), listed(["offset", "drift", "tones"])
        ('offset', 'offset, drift and tones')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
