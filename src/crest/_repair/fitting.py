"""What is tried on a model: the remedies against what moves its prediction and should not."""

from typing import Any

from crest.exchange.result import Exchange
from crest.remedies.fitting import fitting_remedies
from crest.remedies.registry import REMEDIES, USUAL_REMEDIES

NOTHING_MOVES = (
    "What was declared does not move the prediction of the model as it is, so nothing was tried. Declare more with invariant=, or "
    "name what to try with remedies=."
)


def fitting(tested: Exchange, *, known: bool, judged: bool) -> dict[str, Any]:
    """Remedies by name, in the order of the registry and then the joined ones; none if the model is sound.

    Args:
        tested: the exchange test of the model as it is.
        known: whether the condition of each training trajectory is known.
        judged: whether candidates are judged by trajectories that break the tie of target and condition. Then whatever moves
            the prediction may be tried, declared or not: those trajectories tell what it costs.
    """
    if tested.verdict == "events" and not judged:
        return {}
    movers = {*tested.movers(), *(tested.movers(declared=False) if judged else ())}
    # Together they move it, and none does so by itself.
    movers = movers or set(tested.invariant)
    usual = {
        name: REMEDIES[name]
        for name in USUAL_REMEDIES
        if movers & set(REMEDIES[name].against)
        or (REMEDIES[name].needs_pooling and not REMEDIES[name].against)
    }
    return {**usual, **fitting_remedies(sorted(movers), conditions=known)}
