"""What every encoder's constructor does; what their features must obey is in tests/contracts."""

import pytest

from crest.lab.encoders import WIDTH, Encoder, PointwiseEncoder


def test_the_sizes_are_kept() -> None:
    encoder = PointwiseEncoder(3)
    assert isinstance(encoder, Encoder)
    assert (encoder.channels, encoder.width) == (3, WIDTH)


def test_without_a_forward_there_is_no_encoder() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Encoder(3)  # type: ignore[abstract]
