"""Remedies for the models that people have: what helps each encoder, and a rule that tells without field labels."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from scipy.stats import spearmanr

from crest.choice import Choice, choose
from crest.lab.evidence.compare import by_seed, error_text, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.remedy_runs import (
    BEARING_PLACES,
    HARD_PLACES,
    PLAIN,
    REMEDY_NAMES,
    TEN_PLACES,
    Outcome,
    Place,
    mean_of,
    outcomes,
    seed_by_seed,
)
from crest.lab.evidence.settings import FIVE
from crest.lab.evidence.shown import Chart, Claim, Panel, Series, Shown, Table
from crest.lab.evidence.stats import Spread, paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record
from crest.probes.exchange import TRAJECTORIES, Exchange

_BEYOND = "beyond the paper"
_NEVER_WORSE = Claim(
    text="What the rule picks is nowhere more than 5 % worse out of distribution than plain attention",
    paper=_BEYOND,
)
_BETTER = Claim(
    text="What the rule picks is at least 30 % better than plain attention in the median place", paper=_BEYOND
)
_NEAR_BEST = Claim(
    text="What the rule picks is within 15 % of the best in hindsight in the median place", paper=_BEYOND
)
_PREDICTS = Claim(
    text="The share that does not follow the transient orders the OOD errors, without a label", paper=_BEYOND
)
_HALVES = Claim(
    text="With an ordinary CNN, where the cue is a slow level, the pick halves the OOD error", paper=_BEYOND
)
_PICKS = (_NEVER_WORSE, _BETTER, _NEAR_BEST, _HALVES)
_RECURRENT = Claim(
    text="With a GRU on SG-Drive, run-up left out, CREST is 34 % below last state, ERM and group DRO on every seed",
    paper="0.96 against about 1.46, −34 %",
)
_CHANGE = -0.34

_Models: TypeAlias = Mapping[str, Mapping[int, Outcome]]
"""The trained models of a place, by remedy and seed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Picked:
    """What the rule picks in a place, beside what nobody knows without field labels."""

    place: Place
    means: Mapping[str, Outcome]
    choice: Choice

    @property
    def name(self) -> str:
        """The pick; where the rule cannot tell, the model stays as it is."""
        return self.choice.name or PLAIN

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


def picked(place: Place, models: _Models) -> Picked:
    """The pick of the rule, from the means over seeds."""
    means = {name: mean_of(by_seed) for name, by_seed in models.items()}
    choice = choose({name: (_tested(one), one.id) for name, one in means.items()})
    return Picked(place=place, means=means, choice=choice)


def _tested(one: Outcome) -> Exchange:
    """The shares in the form that the rule takes; a mean over seeds has no interval of its own."""
    shares = one.shares
    return Exchange(
        transient=shares.transient,
        background=shares.background,
        interaction=shares.interaction,
        transient_interval=(shares.transient, shares.transient),
        background_interval=(shares.background, shares.background),
        interaction_interval=(shares.interaction, shares.interaction),
        background_alone=shares.background_alone,
        kind="core",
        trajectories=TRAJECTORIES,
    )


def _spread(by_seed: Mapping[int, Outcome], part: str) -> str:
    return str(Spread.of([getattr(one, part) for one in by_seed.values()]))


def _share_text(by_seed: Mapping[int, Outcome], part: str) -> str:
    return Spread.of([getattr(one.shares, part) for one in by_seed.values()]).text(2)


def _remedy_table(
    name: str, caption: str, everywhere: Mapping[Place, _Models], picks: Sequence[Picked]
) -> Table:
    chosen = {(pick.place, pick.name) for pick in picks}
    rows = []
    for place, models in everywhere.items():
        for remedy, trained in models.items():
            plain = models.get(PLAIN)
            change = "" if plain is None else percent(mean_of(trained).ood / mean_of(plain).ood - 1)
            rows.append(
                (
                    place.name,
                    f"{remedy} *" if (place, remedy) in chosen else remedy,
                    _spread(trained, "id"),
                    _spread(trained, "ood"),
                    change,
                    _share_text(trained, "transient"),
                    _share_text(trained, "background_alone"),
                    f"{len(trained)}",
                )
            )
    header = ("system, encoder", "remedy", "ID", "OOD", "ΔOOD", "transient share", "R² background", "seeds")
    return Table(name=name, caption=caption, header=header, rows=tuple(rows))


def _rule_table(picks: Sequence[Picked]) -> Table:
    rows = tuple(
        (
            pick.place.name,
            pick.name if pick.choice.name else f"{PLAIN} (cannot tell)",
            f"{pick.means[PLAIN].ood:.3f}",
            f"{pick.means[pick.name].ood:.3f}",
            percent(pick.change),
            pick.best,
            f"{pick.means[pick.best].ood:.3f}",
            percent(pick.regret),
        )
        for pick in picks
    )
    return Table(
        name="rule",
        caption="What the rule picks from ID errors and shares alone, and its regret against the best in hindsight, "
        "which needs field labels to know. Means over seeds.",
        header=(
            "system, encoder",
            "pick",
            "OOD, plain",
            "OOD, pick",
            "ΔOOD",
            "best in hindsight",
            "OOD, best",
            "regret",
        ),
        rows=rows,
    )


def _chart(everywhere: Mapping[Place, _Models]) -> Chart:
    """A point for each trained model."""
    colours = {PLAIN: "scored_attention", "CREST": "crest", "CREST + exchange": "core", "high-pass": "id"}
    panels = []
    for system in dict.fromkeys(place.system for place in everywhere):
        series = []
        for remedy in REMEDY_NAMES:
            there = [
                (place, seed, one)
                for place, models in everywhere.items()
                if place.system == system
                for seed, one in models.get(remedy, {}).items()
            ]
            if there:
                series.append(
                    Series(
                        name=remedy,
                        x=[1 - one.shares.transient for _, _, one in there],
                        y=[one.ood for _, _, one in there],
                        look="points",
                        colour=colours.get(remedy, "other"),
                        hover=[
                            f"{place.name}, {remedy}, seed {seed}, ID {one.id:.3f}"
                            for place, seed, one in there
                        ],
                    )
                )
        if series:
            title = next(place.name.split(",")[0] for place in everywhere if place.system == system)
            panels.append(
                Panel(
                    title=title,
                    x_label="share that does not follow the transient",
                    y_label="OOD error",
                    series=tuple(series),
                )
            )
    return Chart(
        name="shares",
        caption="Every trained model: what its prediction does not take from the transient, found without labels, against "
        "its error in the field.",
        panels=tuple(panels),
    )


def _rank(models: Sequence[Outcome]) -> float:
    found = spearmanr([1 - one.shares.transient for one in models], [one.ood for one in models])
    return float(found.statistic)


def _prediction(everywhere: Mapping[Place, _Models]) -> Claim:
    by_system: dict[str, list[Outcome]] = {}
    for place, models in everywhere.items():
        by_system.setdefault(place.system, []).extend(
            one for by_seed in models.values() for one in by_seed.values()
        )
    every = [one for models in by_system.values() for one in models]
    overall = _rank(every)
    words = ", ".join(f"{system} {_rank(models):.2f}" for system, models in by_system.items())
    return _PREDICTS.judged(
        f"rank correlation {overall:.2f} over {len(every)} models ({words})",
        holds=overall >= 0.8,
        partly=overall >= 0.5,
        bar="0.8 or more over all models of both simulators",
    )


def _judged_picks(picks: Sequence[Picked]) -> tuple[Claim, ...]:
    changes = [pick.change for pick in picks]
    worst = max(picks, key=lambda pick: pick.change)
    median, regret = statistics.median(changes), statistics.median(pick.regret for pick in picks)
    seeds = min(len(pick.place.seeds) for pick in picks)
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
            partly=median < 0,
            bar="−30 % or below",
            seeds=seeds,
        ),
        _NEAR_BEST.judged(
            f"median regret {percent(regret, 1)}",
            holds=regret <= 0.15,
            partly=regret <= 0.5,
            bar="15 % or less",
            seeds=seeds,
        ),
        _HALVES.judged(
            f"{slow.name}: {percent(slow.change, 1)} on {slow.place.name}",
            holds=slow.change <= -0.5,
            partly=slow.change < 0,
            bar="−50 % or below on SG-Drive, whose cue is the level of the speed",
            seeds=len(slow.place.seeds),
        ),
    )


def _recurrent(found: Found) -> dict[str, list[Record]]:
    fields = {"system": "gear", "encoder": "gru", "remedy": "none", "regime": "default", "system_options": {}}
    return {
        "last state": found.of(**fields, readout="last"),
        "ERM (mean)": found.of(**fields, readout="mean", objective="mse"),
        "group DRO (mean)": found.of(**fields, readout="mean", objective="group_dro"),
        "CREST": found.of(**fields, readout="crest"),
    }


def _recurrent_claim(groups: Mapping[str, list[Record]]) -> Claim:
    if any(len(records) < len(FIVE) for records in groups.values()):
        return _RECURRENT
    crest = by_seed(groups["CREST"])
    others = {name: by_seed(records) for name, records in groups.items() if name != "CREST"}
    below = sum(
        all(crest[seed] <= (1 + _CHANGE) * errors[seed] for errors in others.values()) for seed in crest
    )
    results = {name: paired(crest, errors) for name, errors in others.items()}
    words = ", ".join(f"{percent(result.change, 1)} against {name}" for name, result in results.items())
    return _RECURRENT.judged(
        f"{words}; below each by that much on {below} of {len(crest)} seeds",
        holds=below == len(crest),
        partly=max(result.change for result in results.values()) < 0,
        bar=f"{percent(_CHANGE)} or below against each, on every seed",
        seeds=len(crest),
    )


def _recurrent_table(groups: Mapping[str, list[Record]]) -> Table:
    rows = tuple(
        (name, error_text(records, "id"), error_text(records), f"{len(records)}")
        for name, records in groups.items()
    )
    return Table(
        name="recurrent",
        caption="SG-Drive with a GRU: CREST leaves the run-up of the state out.",
        header=("readout", "ID", "OOD", "seeds"),
        rows=rows,
    )


def _show(found: Found) -> Shown:
    ten = {place: models for place in TEN_PLACES if (models := outcomes(found, place))}
    others = {
        place: models for place in (*BEARING_PLACES, *HARD_PLACES) if (models := outcomes(found, place))
    }
    picks = [picked(place, models) for place, models in ten.items()]
    more = [picked(place, models) for place, models in others.items()]
    whole = all(found.complete(**place.fields) for place in TEN_PLACES)
    groups = _recurrent(found)
    table = _remedy_table(
        "remedies",
        "Each remedy with each encoder, on the seeds that all have; the plain model is MLP-scored attention. Transient share: of the prediction's "
        "variance, when backgrounds are exchanged. * what the rule picks.",
        ten,
        picks,
    )
    limits = _remedy_table(
        "elsewhere",
        "Real bearings with standardised windows, and three settings where something is missing.",
        others,
        more,
    )
    return Shown(
        tables=(table, _rule_table([*picks, *more]), limits, _recurrent_table(groups)),
        charts=(_chart(ten),) if ten else (),
        claims=(
            *(_judged_picks(picks) if whole else _PICKS),
            _prediction(ten) if whole else _PREDICTS,
            _recurrent_claim(groups),
        ),
        notes=(
            "The rule sees ID errors and shares, which need no label from the field; OOD errors stand here to judge it.",
            "Where the rule cannot tell, the model counts as left as it is.",
        ),
    )


REMEDIES_EXPERIMENT = Experiment(
    name="remedies",
    evidence="Beyond the paper: docs/remedies.md",
    summary="What helps a CNN, a GRU or a Transformer, and can one tell without field labels?",
    show=_show,
    runs=(
        *seed_by_seed((*TEN_PLACES, *HARD_PLACES, *BEARING_PLACES)),
        *grid([{"measures": ("exchange",)}], seed=FIVE, system="gear", encoder="gru", readout="crest"),
        *grid(seed=FIVE, system="gear", encoder="gru", readout=["last", "mean"]),
        *grid(seed=FIVE, system="gear", encoder="gru", readout="mean", objective="group_dro"),
    ),
)
