"""Models that fail on a batch: what to say of them."""

CALL_ERRORS = (RuntimeError, AttributeError, TypeError, IndexError, AssertionError)
"""What a model raises that is called in another way than it was written for."""


def why_it_failed(
    error: Exception,
    shape: tuple[int, ...],
    *,
    masked: bool,
    channels_first: bool | None = None,
) -> str:
    """The sentence of a ValueError about a model that failed on inputs of this shape.

    Args:
        error: what it raised.
        shape: of the inputs.
        masked: whether a mask, or lengths, came with them.
        channels_first: whether they were taken for (B, C, T); None if that was not told.

    Example:
        >>> why_it_failed(TypeError("forward() missing 1 required positional argument: 'm'"), (8, 50, 1), masked=False)
        "model must take inputs (8, 50, 1); it failed with TypeError: forward() missing 1 required positional argument: 'm'. \
A mask or lengths that it needs must come with the batches: (inputs, targets, mask) or (inputs, targets, lengths)"
    """
    letters = {None: "", True: "(B, C, T) = ", False: "(B, T, C) = "}[channels_first]
    beside = " and a mask or lengths" if masked else ""
    if "Guard failed" in str(error):
        hint = (
            "An exported program takes batches of other sizes if it is exported with "
            "dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)"
        )
    elif len(shape) == 2:
        hint = "Does it take three axes? Give x[..., None] for (B, T, C) or x[:, None] for (B, C, T)"
    elif isinstance(error, TypeError) and "argument" in str(error):
        hint = (
            "Does it take the mask, or the lengths, that the batches hold?"
            if masked
            else "A mask or lengths that it needs must come with the batches: (inputs, targets, mask) or (inputs, targets, "
            "lengths)"
        )
    else:
        other = "" if channels_first is None else f", or channels_first={not channels_first}"
        hint = f"Are the axes in another order (x.mT{other}), or does it need a mask or lengths?"
    return f"model must take inputs {letters}{shape}{beside}; it failed with {type(error).__name__}: {error}. {hint}"
