import pytest

from crest.lab.encoders import LocalEncoder
from encoding import CHANNELS, seen_steps


@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_a_local_feature_sees_two_kernels_less_one_centred_on_its_step(kernel: int) -> None:
    seen = seen_steps(LocalEncoder(CHANNELS, kernel=kernel), 20)
    assert seen == list(range(20 - (kernel - 1), 20 + kernel))
    assert len(seen) == 2 * kernel - 1
