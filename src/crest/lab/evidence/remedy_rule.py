"""The rule on the remedies' models: what it picks in each place, and how that compares with what hindsight knows."""

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence

from crest.exchange.rule import choose
from crest.lab.evidence.compare import percent
from crest.lab.evidence.remedy_runs import (
    PLAIN,
    ModelOutcome,
    RemedyModels,
    RemedyPlace,
    as_exchange,
    mean_of,
)
from crest.lab.evidence.shown import BEYOND, Claim, Table

_NEVER_WORSE = Claim(
    text="What the rule picks is in none of the ten places of the simulators more than 5 % worse out of distribution than "
    "plain attention",
    paper=BEYOND,
)
_BETTER = Claim(
    text="What the rule picks is at least 30 % better than plain attention in the median place", paper=BEYOND
)
_NEAR_BEST = Claim(
    text="What the rule picks is within 15 % of the best in hindsight in the median place", paper=BEYOND
)
_HALVES = Claim(
    text="With an ordinary CNN, where the cue is a slow level, what the rule picks halves the OOD error",
    paper=BEYOND,
)
PICK_CLAIMS = (_NEVER_WORSE, _BETTER, _NEAR_BEST, _HALVES)
"""What is claimed of the picks, before anything is measured."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Picked:
    """What the rule picks in a place, beside what only field labels can tell."""

    place: RemedyPlace
    means: Mapping[str, ModelOutcome]
    chosen: str | None
    """None if the rule cannot tell."""
    seeds: int
    """Over how many the means go."""

    @property
    def name(self) -> str:
        """The pick. If the rule cannot tell, the model stays as it is."""
        return self.chosen or PLAIN

    @property
    def best(self) -> str:
        """The best in hindsight."""
        return min(self.means, key=lambda name: self.means[name].ood)

    @property
    def change(self) -> float:
        """Relative change of the OOD error against plain attention."""
        return self.means[self.name].ood / self.means[PLAIN].ood - 1

    @property
    def regret(self) -> float:
        """How far above the best in hindsight, as a share of it."""
        return self.means[self.name].ood / self.means[self.best].ood - 1


def picked(place: RemedyPlace, models: RemedyModels) -> Picked:
    """What `crest.choose` picks, from the means over seeds."""
    means = {name: mean_of(by_seed) for name, by_seed in models.items()}
    choice = choose({name: (as_exchange(one.shares), one.id) for name, one in means.items()}, keep=PLAIN)
    return Picked(place=place, means=means, chosen=choice.name, seeds=len(models[PLAIN]))


def exchanged_error(one: ModelOutcome) -> float:
    """Error of a model on spectra or backgrounds of others."""
    if one.shares.exchanged_error is None:
        raise ValueError("one must have been measured with its error on exchanged backgrounds, got None")
    return one.shares.exchanged_error


def rule_table(name: str, caption: str, picks: Iterable[Picked]) -> Table:
    """The picks, a row for each place."""
    rows = tuple(
        (
            pick.place.name,
            pick.chosen or f"{PLAIN} (cannot tell)",
            f"{pick.means[PLAIN].ood:.3f}",
            f"{pick.means[pick.name].ood:.3f}",
            percent(pick.change),
            pick.best,
            f"{pick.means[pick.best].ood:.3f}",
            percent(pick.regret),
            f"{pick.seeds}",
        )
        for pick in picks
    )
    return Table(
        name=name,
        caption=f"{caption}, and its regret against the best in hindsight, which needs field labels to know. Means over seeds.",
        header=(
            "system, encoder",
            "pick",
            "OOD, plain",
            "OOD, pick",
            "ΔOOD",
            "best in hindsight",
            "OOD, best",
            "regret",
            "seeds",
        ),
        rows=rows,
    )


def judged_picks(picks: Sequence[Picked]) -> tuple[Claim, ...]:
    """The verdicts on the picks of all ten places."""
    changes = [pick.change for pick in picks]
    worst = max(picks, key=lambda pick: pick.change)
    median, regret = statistics.median(changes), statistics.median(pick.regret for pick in picks)
    seeds = min(pick.seeds for pick in picks)
    slow = next(pick for pick in picks if (pick.place.system, pick.place.encoder) == ("gear", "cnn"))
    return (
        _NEVER_WORSE.judged(
            f"worst: {percent(worst.change, 1)} with {worst.place.name}",
            holds=worst.change <= 0.05,
            partly=sum(change <= 0.05 for change in changes) > len(changes) / 2,
            bar="5 % or less in each of the ten places",
            seeds=seeds,
        ),
        _BETTER.judged(
            f"median {percent(median, 1)}",
            holds=median <= -0.3,
            partly=median <= -0.15,
            bar="−30 % or below",
            seeds=seeds,
        ),
        _NEAR_BEST.judged(
            f"median regret {percent(regret, 1)}",
            holds=regret <= 0.15,
            partly=regret <= 0.3,
            bar="15 % or less",
            seeds=seeds,
        ),
        _HALVES.judged(
            f"{slow.name}: {percent(slow.change, 1)} on {slow.place.name}",
            holds=slow.change <= -0.5,
            partly=slow.change <= -0.25,
            bar="−50 % or below on SG-Drive, whose cue is the level of the speed",
            seeds=slow.seeds,
        ),
    )
