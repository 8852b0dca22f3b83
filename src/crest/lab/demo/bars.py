"""Numbers as bars of characters, for a terminal."""

from collections.abc import Mapping

from crest._base.arguments import require

_WIDTH = 50
"""Characters of the longest bar."""


def error_bars(values: Mapping[str, float], *, block: str = "█", width: int = _WIDTH) -> list[str]:
    r"""A line for each value: its name, a bar as long as the value is large, and the value.

    Args:
        values: by name; 0 or more.
        block: what bars are made of.
        width: characters of the longest bar.

    Example:
        >>> print("\n".join(error_bars({"before": 0.5, "after": 0.2}, block="#", width=10)))
        before  ########## 0.500
        after   #### 0.200
    """
    for name, value in values.items():
        require(f"values[{name!r}]", value, "be 0 or more")
    longest = max(values.values(), default=0.0)
    names = max(map(len, values), default=0)
    scale = width / longest if longest > 0 else 0.0
    return [
        f"{name:<{names}}  {f'{block * round(scale * value)} '.lstrip()}{value:.3f}"
        for name, value in values.items()
    ]
