"""Target x condition as a table: of an audit with errors, of cues with counts."""

from collections.abc import Mapping, Sequence

from crest._pages.panels import Matrix, MatrixCell, MatrixPanel

_MOST_CELLS = 12
"""Rows and columns that are drawn at most."""


def tie_panel(
    title: str,
    cells: Mapping[str, Sequence[Sequence[MatrixCell]]],
    *,
    targets: Sequence[str],
    conditions: Sequence[str],
    caption: str,
) -> MatrixPanel | None:
    """A table for each model; None if there are too many targets or conditions to draw.

    Args:
        title: of the panel.
        cells: a row for each target and a column for each condition, by the name of each model; "" shows no name.
        targets: names of the rows, as they are shown.
        conditions: names of the columns.
        caption: what the tables say, in words.
    """
    if len(targets) > _MOST_CELLS or len(conditions) > _MOST_CELLS:
        return None
    return MatrixPanel(
        title=title,
        matrices=tuple(
            Matrix(
                title=name,
                corner="target",
                across="condition",
                columns=tuple(conditions),
                rows=tuple((target, tuple(row)) for target, row in zip(targets, rows, strict=True)),
            )
            for name, rows in cells.items()
        ),
        caption=caption,
    )
