import pytest
from torch import nn

from crest.remedies import HighPass, Remedy
from crest.remedies.remedy import mask_argument


def test_what_it_needs_follows_from_what_it_does() -> None:
    assert [(one.needs_fit, one.needs_pooling) for one in (Remedy(), Remedy(front=HighPass))] == [
        (True, False)
    ] * 2
    assert [(one.needs_fit, one.needs_pooling) for one in map(pooled, ("trained", "re-anchored"))] == [
        (True, True),
        (False, True),
    ]


def test_balanced_sampling_needs_conditions() -> None:
    assert not Remedy().needs_conditions
    assert Remedy(balanced=True).needs_conditions
    assert Remedy(balanced=True).needs_fit


def pooled(how: str) -> Remedy:
    return Remedy(pooling=how)


@pytest.mark.unchecked
def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^front, change and balanced must be left out with pooling='re-anchored'"
    ):
        Remedy(front=HighPass, pooling="re-anchored")
    with pytest.raises(ValueError, match=r"^front, change and balanced must be left out"):
        Remedy(balanced=True, pooling="re-anchored")
    with pytest.raises(ValueError, match=r"^against must be one of offset, drift, .* did you mean 'gain'"):
        Remedy(against=("gian",))
    with pytest.raises(ValueError, match=r"^pooling must be"):
        Remedy(pooling="mean")
    with pytest.raises(ValueError, match=r"^judged_on must be one of level, slow"):
        Remedy(judged_on="fast")


def test_a_mask_is_known_by_its_name() -> None:
    assert mask_argument(HighPass()) == "mask"
    assert mask_argument(lambda x, valid=None: x) == "valid"
    assert mask_argument(lambda x, labels: x) is None
    assert mask_argument(nn.Conv1d(1, 1, 3)) is None
    with pytest.raises(ValueError, match=r"^mask is True where a step is valid"):
        mask_argument(lambda x, padding_mask: x)
