import json
from typing import Any

import pytest

from crest.lab.runs.combination import built_options, check_combination, crest_constants
from crest.readouts import CrestConfig

PARTS: dict[str, Any] = {
    "encoder": ("pointwise", {}),
    "readout": ("attention", {}),
    "objective": ("mse", {}),
    "remedy": ("none", {}),
    "outputs": 1,
}


def check(**changes: Any) -> None:
    check_combination(json.dumps({**PARTS, **changes}))


def test_what_goes_together_is_taken() -> None:
    check()
    check(objective=("cross_entropy", {}), outputs=3)
    # Nobody knows yet what the labels of recordings are.
    check(objective=("cross_entropy", {}), outputs=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outputs": 2}, "objective must be cross_entropy if the labels are 2 classes"),
        (
            {"objective": ("event_auxiliary", {}), "readout": ("mean", {})},
            "readout must have learned step weights",
        ),
        ({"encoder": ("gru", {"width": "wide"})}, "options must be of the right type and size"),
        ({"encoder": ("own", {"factory": ""})}, "factory must be given for an encoder of your own"),
        ({"readout": ("crest", {"config": {"sigmas": 1.0}})}, "config must be one of .*sigma"),
    ],
)
def test_what_does_not_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(**changes)


def test_constants_are_changes_of_the_defaults() -> None:
    assert crest_constants(None) == CrestConfig()
    assert built_options({"config": {"sigma": 8.0}, "split": True}) == {
        "config": CrestConfig(sigma=8.0),
        "split": True,
    }
    with pytest.raises(ValueError, match="config must be a mapping of CREST's constants, got 3"):
        crest_constants(3)
