import pytest

from crest.lab.systems import Sizes


def test_sizes_are_checked() -> None:
    assert Sizes() == Sizes(train=1024, id=256, ood=256)
    with pytest.raises(ValueError, match="ood must be a whole number, 1 or more, got 0"):
        Sizes(ood=0)
