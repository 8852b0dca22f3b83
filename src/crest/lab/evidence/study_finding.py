"""What a study found, in a few sentences: who fails in the field, what the rule picks, and what would have been best."""

import statistics
from collections.abc import Mapping, Sequence

from crest.exchange.candidates import Choice
from crest.exchange.result import LEARNT
from crest.lab.evidence.study_standing import Standing


def fails_in_field(id_error: float, ood_error: float, guess: float) -> bool:
    """Whether a model loses more than half of its gain over a guess. Our choice: docs/evidence/choices.md#fails-in-the-field.

    Example:
        >>> fails_in_field(0.10, 0.77, guess=1.0), fails_in_field(0.10, 0.40, guess=1.0)
        (True, False)
    """
    return guess - ood_error < (guess - id_error) / 2


def study_finding(
    there: Sequence[Standing],
    rule: tuple[Choice, Mapping[str, Standing]],
    *,
    has_ood: bool,
    error: str,
    guess: float,
) -> str:
    """The finding of a study.

    Args:
        there: the models that have records.
        rule: what was chosen among all models, and the models by the names that the rule knows.
        has_ood: whether something is held out as OOD.
        error: what errors are called.
        guess: the error of a constant prediction.
    """
    learnt = [one for one in there if one.mean.id <= LEARNT * guess]
    if not learnt:
        lowest = min(one.mean.id for one in there)
        return (
            f"No model has learnt the label: the lowest ID {error} is {lowest:.2f}, and a guess has {guess:.2f}. "
            "Train for longer, or look at labels and windows first."
        )
    choice, models = rule
    pick = None if choice.name is None else models[choice.name]
    picked = "The rule cannot tell which model to take" if pick is None else f"The rule picks {choice.name}"
    if not has_ood:
        told = "" if pick is None else f": ID {error} {pick.mean.id:.2f}"
        return f"{picked}{told}. No condition is held out, so the {error} in the field is unknown."
    sentences = [_field(learnt, len(there), error, guess)]
    best = min(models, key=lambda name: models[name].mean.ood)
    if pick is not None and choice.name == best:
        sentences.append(f"{picked} ({_both(pick)}), which is the best in hindsight too.")
    else:
        sentences.append(f"{picked}{'' if pick is None else f' ({_both(pick)})'}.")
        sentences.append(f"Best in hindsight, by the labels of the field: {best} ({_both(models[best])}).")
    return " ".join(sentences)


def _field(learnt: Sequence[Standing], models: int, error: str, guess: float) -> str:
    """How many models fail in the field, and the mean errors over models."""
    means = [standing.mean for standing in learnt]
    failing = sum(fails_in_field(mean.id, mean.ood, guess) for mean in means)
    some = len(means) < models
    one = f" that learnt the label ({len(means)} of {models})" if some else ""
    several = f" {len(means)} models that learnt the label (of {models})" if some else f" {len(means)} models"
    count = {0: f"No model{one} fails", len(means): f"Every model{one} fails"}.get(failing)
    count = count or f"{failing} of{' the' * some}{several} fail{'s' * (failing == 1)}"
    worst = [statistics.fmean(standing.worst) for standing in learnt if standing.worst]
    group = f", {statistics.fmean(worst):.2f} in the worst group" if len(worst) == len(learnt) else ""
    inside, outside = (statistics.fmean(getattr(mean, part) for mean in means) for part in ("id", "ood"))
    called = f"mean {error}" if len(means) > 1 else error
    return f"{count} in the field: {called} {inside:.2f} → {outside:.2f}{group}."


def _both(one: Standing) -> str:
    """Errors from ID to OOD."""
    return f"{one.mean.id:.2f} → {one.mean.ood:.2f}"
