"""From shares to a verdict and to advice."""

import dataclasses
import math

import pytest

from crest._audit.readings import Deletion
from crest._audit.verdict import found
from crest.exchange import Exchange


def made(transient: float, background: float, moved: float, width: float = 0.05) -> Exchange:
    def around(value: float) -> tuple[float, float]:
        return value - width, value + width

    return Exchange(
        transient=transient,
        background=background,
        interaction=1 - transient - background,
        transient_interval=around(transient),
        background_interval=around(background),
        interaction_interval=around(1 - transient - background),
        background_alone=0.5,
        kind="core",
        trajectories=128,
        moved=moved,
        moved_interval=around(moved),
    )


@pytest.mark.parametrize(
    ("exchange", "verdict"),
    [
        (made(0.9, 0.05, 0.3), "events"),
        (made(0.9, 0.05, 0.3, width=0.15), "unclear"),
        (made(0.83, 0.05, 0.3), "unclear"),
        (made(0.77, 0.05, 0.3), "unclear"),
        (made(0.7, 0.1, 0.3), "background"),
        (made(0.2, 0.75, 1.2), "background"),
        (made(0.4, 0.2, 2.0), "background"),
        (made(0.4, 0.0, 2.0), "unclear"),
        (made(math.nan, math.nan, math.nan), "unclear"),
    ],
    ids=[
        "follows",
        "unsure",
        "just above",
        "just below",
        "less",
        "background",
        "some of both",
        "both together",
        "constant",
    ],
)
def test_the_verdict(exchange: Exchange, verdict: str) -> None:
    assert found(exchange, level=None, sharp=1.0, core_credit=None, deletion=None).verdict == verdict
    assert exchange.verdict == verdict


def test_reasons_and_advice_follow_what_was_measured() -> None:
    bad = made(0.2, 0.75, 1.2)
    finding = found(
        bad, level=bad, sharp=1.0, core_credit=(0.3, 0.1), deletion=Deletion(core=0.2, others=0.1)
    )
    assert "30% of the credit" in finding.reasons[1]
    assert (
        "by 0.20 standard deviations; removing as many other steps shifts them by 0.10" in finding.reasons[2]
    )
    assert "AC coupling" in finding.advice[0]
    slow = found(bad, level=dataclasses.replace(bad, moved=0.2), sharp=1.0, core_credit=None, deletion=None)
    assert 'HighPass("slow")' in slow.advice[0]


def test_the_advice_says_where_a_layer_goes_and_that_the_model_is_trained_again() -> None:
    bad = made(0.2, 0.75, 1.2)
    for level, places in (
        (bad, ["in front of the model"]),
        (None, ["in front of the model", "on each training batch"]),
    ):
        first = found(bad, level=level, sharp=1.0, core_credit=None, deletion=None).advice[0]
        assert [place for place in places if place in first] == places
        assert first.endswith("train the model again.")


def test_the_advice_is_in_the_models_layout() -> None:
    bad = made(0.2, 0.75, 1.2)
    for level in (bad, None):
        first = found(
            bad, level=level, sharp=1.0, core_credit=None, deletion=None, channels_first=True
        ).advice[0]
        assert first.count("channels_first=True") == first.count("crest.")


def test_the_advice_hands_masks_and_lengths_on() -> None:
    """A layer in a Sequential gets no mask, and would average the padding in."""
    bad = made(0.2, 0.75, 1.2)
    for level, kind in ((bad, "level"), (None, "slow")):
        first = found(
            bad, level=level, sharp=1.0, core_credit=None, deletion=None, channels_first=True, masked=True
        ).advice[0]
        assert f'crest.remedies.WithFront(crest.HighPass("{kind}", channels_first=True), model)' in first
        assert first.endswith("train the model again.")


def test_without_a_core_the_tool_is_the_wrong_one() -> None:
    finding = found(made(0.2, 0.75, 1.2), level=None, sharp=0.1, core_credit=None, deletion=None)
    assert finding.verdict == "background"
    assert "wrong one" in finding.advice[0]
    assert "10% of the trajectories" in finding.reasons[-1]


def test_neither_alone_is_explained() -> None:
    finding = found(made(0.4, 0.0, 2.0), level=None, sharp=1.0, core_credit=None, deletion=None)
    assert "neither alone" in finding.reasons[1]


def test_few_trajectories_and_a_limit_in_the_interval_are_told() -> None:
    few = found(made(0.2, 0.75, 1.2), level=None, sharp=1.0, core_credit=None, deletion=None, few=True)
    assert few.reasons[0].startswith("Fewer than 8 trajectories")
    near = found(made(0.83, 0.05, 0.3), level=None, sharp=1.0, core_credit=None, deletion=None)
    assert near.verdict == "unclear"
    assert "limit of 80%" in near.reasons[1]
