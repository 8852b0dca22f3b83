import pytest

from crest.lab.systems import OUTSIDE, REGIMES, Sizes, regime


@pytest.mark.parametrize(("system", "name"), [(s, name) for s, names in REGIMES.items() for name in names])
def test_every_regime_runs_and_differs_from_the_default(system: str, name: str) -> None:
    changed = regime(system, name)
    data = changed.splits(1000, Sizes(train=8, id=4, ood=4)).train
    assert data.events.any(axis=1).all()
    assert (changed == regime(system)) == (name == "default")


def test_what_is_outside_of_crests_reach_is_a_regime_of_the_gear() -> None:
    assert OUTSIDE
    assert set(OUTSIDE) <= set(REGIMES["gear"])


def test_unknown_names_list_the_choices() -> None:
    with pytest.raises(ValueError, match="system must be one of gear, impact, got 'pump'"):
        regime("pump")
    with pytest.raises(ValueError, match=r"regime of gear must be one of default, weak_cue, .* got 'x'"):
        regime("gear", "x")
