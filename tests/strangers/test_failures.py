"""What is said of models that fail."""

import pytest

from crest.strangers.failures import why_it_failed

MISSING = TypeError("forward() missing 1 required positional argument: 'lengths'")
ODD = RuntimeError("Expected 1, got 80")


@pytest.mark.parametrize(
    ("error", "masked", "channels_first", "words"),
    [
        (
            ODD,
            False,
            True,
            [
                "inputs (B, C, T) = (4, 80, 1); it failed with RuntimeError: Expected 1",
                "channels_first=False",
            ],
        ),
        (ODD, True, False, ["inputs (B, T, C) = (4, 80, 1) and a mask or lengths;", "channels_first=True"]),
        (ODD, False, None, ["inputs (4, 80, 1); it failed", "(x.mT), or does it need a mask or lengths?"]),
        (
            MISSING,
            False,
            False,
            ["'lengths'. A mask or lengths that it needs must come with the batches: (inputs,"],
        ),
        (MISSING, True, False, ["Does it take the mask, or the lengths, that the batches hold?"]),
    ],
)
def test_words(error: Exception, masked: bool, channels_first: bool | None, words: list[str]) -> None:
    found = why_it_failed(error, (4, 80, 1), masked=masked, channels_first=channels_first)
    assert found.startswith("model must take inputs ")
    assert all(part in found for part in words), found
    # Axes in another order are no reason for a wrong number of arguments.
    assert ("axes" in found) == (error is ODD)
