import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crest._base.plain_json import read_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=20,
)


@given(PLAIN)
def test_json_is_what_it_says(value: object) -> None:
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("{", "Expecting"),
        ("[1, NaN]", "it holds NaN"),
        ("-Infinity", "it holds -Infinity"),
        ('{"a": {"b": 1, "c": 2, "b": 1}}', "it has 'b' twice"),
        ('{"a": 1, "\\u0061": 1}', "it has 'a' twice"),
        ("[" * 100_000, "it nests too deep"),
        ('{"a":' * 100_000, "it nests too deep"),
        ("9" * 5000, "4300 digits"),
        (b"\xff", "decode"),
        ("{" + ", ".join(f'"{name}": 0' for name in [*range(50_000), 49_999]) + "}", "it has '49999' twice"),
    ],
)
def test_other_text_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_json(text)
