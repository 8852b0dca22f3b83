"""What a candidate must be."""

import pytest

from crest.exchange import Exchange
from crest.exchange.candidates import Candidate, Choice, JudgedCandidate

EXCHANGE = Exchange(
    transient=0.9,
    background=0.1,
    interaction=0.0,
    transient_interval=(0.8, 1.0),
    background_interval=(0.0, 0.2),
    interaction_interval=(0.0, 0.0),
    background_alone=0.1,
    kind="core",
    trajectories=64,
    exchanged_error=0.2,
)


def test_the_worst_condition_is_that_with_the_highest_error() -> None:
    judged = JudgedCandidate(
        id_error=0.1,
        exchange=EXCHANGE,
        better=True,
        reason="why",
        condition_errors={"low": 0.1, "high": 0.3},
    )
    assert (judged.worst_condition, judged.worst) == ("high", "0.3 (high)")
    choice = Choice(
        name=None, reason="Nothing fits.", by="exchange", lowest_error="a", candidates={"a": judged}
    )
    assert repr(choice).splitlines()[:2] == [
        "Choice: none. Nothing fits.",
        "The lowest ID error is that of a.",
    ]


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id_error": 0.1}, "^function must be given if exchange is not"),
        ({"function": abs}, "^id_error must be 0 or more, got nan"),
        ({"function": abs, "id_error": 0.1, "held_out": -1.0}, "^held_out must be 0 or more, got -1.0"),
        ({"function": abs, "id_error": 0.1, "even_error": -1.0}, "^even_error must be 0 or more, got -1.0"),
        ({"id_error": 0.1, "exchange": 0.9}, "^exchange must be a crest.Exchange, got float"),
    ],
)
def test_messages_of_a_candidate(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Candidate(**arguments)
