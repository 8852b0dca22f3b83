"""What is tried follows from what moves the prediction."""

from typing import Any

import pytest

from crest import Exchange
from crest._repair.fitting import fitting
from crest.exchange.sensitivity import Sensitivity
from crest.remedies import REMEDIES, USUAL_REMEDIES
from crest.remedies.fitting import fitting_remedies

DECLARED = ("offset", "drift", "tones")


def moved_by(together: float, invariant: tuple[str, ...] = DECLARED, **alone: float) -> Exchange:
    def row(moved: float) -> Sensitivity:
        return Sensitivity(moved=moved, moved_interval=(moved, moved))

    both = (0.5, 0.5)
    return Exchange(
        transient=0.5, background=0.5, interaction=0.0, transient_interval=both, background_interval=both,
        interaction_interval=(0.0, 0.0), background_alone=0.0, kind="core", trajectories=64, invariant=invariant,
        together=row(together), nuisances={name: row(moved) for name, moved in alone.items()},
    )  # fmt: skip


def names(exchange: Exchange, known: bool = False, judged: bool = False) -> list[str]:
    return list(fitting(exchange, known=known, judged=judged))


def test_nothing_is_tried_on_a_model_that_is_not_moved() -> None:
    assert names(moved_by(0.1, offset=0.1)) == []
    assert names(moved_by(0.1, offset=0.1, gain=1.4), known=True) == []


def test_an_offset_calls_for_all_that_takes_it_off_or_changes_it() -> None:
    found = names(moved_by(1.2, offset=1.2, drift=0.0))
    assert {"re-anchored", "AC coupling", "high-pass", "level jitter", "exchange", "CREST"} <= set(found)
    assert set(USUAL_REMEDIES) <= set(found)
    assert not {"standardise", "stretch", "tone filter", "balanced"} & set(found)


def test_what_moves_it_and_nothing_else_is_answered() -> None:
    found = names(moved_by(1.2, invariant=("rate",), rate=1.2))
    assert "stretch" in found
    assert not {"AC coupling", "high-pass", "level jitter", "exchange", "standardise"} & set(found)
    # Another pooling is against whatever is not brief.
    assert {"re-anchored", "CREST"} <= set(found)
    tones = names(moved_by(1.2, tones=1.2, offset=0.0))
    assert {"tone filter", "exchange of tones"} & set(tones)
    assert "AC coupling" not in tones


def test_where_only_all_together_move_it_all_are_answered() -> None:
    assert set(names(moved_by(0.6, offset=0.1, drift=0.1, tones=0.1))) >= {"AC coupling", "high-pass"}
    assert names(moved_by(0.6, offset=0.1)) == names(moved_by(0.6, offset=0.3, drift=0.3, tones=0.3))


def test_undeclared_movers_are_tried_only_if_trajectories_judge_them() -> None:
    exchange = moved_by(0.1, offset=0.1, gain=1.2)
    found = names(exchange, known=True, judged=True)
    assert "standardise" in found
    assert "balanced" in found
    assert "balanced" not in names(exchange, judged=True)


@pytest.mark.parametrize("mover", ["offset", "drift", "tones", "gain", "colour", "rate"])
def test_every_remedy_is_known_or_joined_and_the_usual_come_first(mover: str) -> None:
    exchange = moved_by(1.2, invariant=(mover,), **{mover: 1.2})
    found: dict[str, Any] = fitting(exchange, known=False, judged=False)
    usual = [name for name in USUAL_REMEDIES if name in found]
    assert list(found)[: len(usual)] == usual
    assert set(fitting_remedies([mover])) <= set(found)
    for name, remedy in found.items():
        assert remedy is REMEDIES.get(name, remedy)
        assert remedy.needs_pooling or mover in remedy.against
