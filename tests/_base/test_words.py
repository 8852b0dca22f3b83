"""Words of sentences."""

import pytest

from crest._base.words import listed


@pytest.mark.parametrize(
    ("names", "told"), [(["a"], "a"), (["a", "b"], "a and b"), (("a", "b", "c"), "a, b and c")]
)
def test_names_are_listed_as_people_do(names: list[str], told: str) -> None:
    assert listed(names) == told
