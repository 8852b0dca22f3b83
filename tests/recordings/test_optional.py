import math

import pytest

from crest.recordings.optional import optional_module


def test_a_module_that_is_there_is_given_and_another_is_named() -> None:
    assert optional_module("math", "this") is math
    with pytest.raises(
        ImportError, match=r"^a test needs nowhere_to_be_found\. Install the extra recordings: pip install"
    ):
        optional_module("nowhere_to_be_found.part", "a test")
