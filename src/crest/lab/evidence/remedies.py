"""Remedies for the models that people have: what helps each encoder, and a rule that tells without field labels."""

from collections.abc import Callable, Mapping, Sequence

from scipy.stats import spearmanr

from crest.lab.evidence.compare import percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.remedy_guide import guide_tables
from crest.lab.evidence.remedy_rule import (
    PICK_CLAIMS,
    Picked,
    exchanged_error,
    judged_picks,
    picked,
    rule_table,
)
from crest.lab.evidence.remedy_runs import (
    BEARING_PLACES,
    HARD_PLACES,
    PLAIN,
    REMEDY_NAMES,
    TEN_PLACES,
    ModelOutcome,
    RemedyModels,
    RemedyPlace,
    by_nuisances,
    by_spectra,
    mean_of,
    outcomes,
    seed_by_seed,
)
from crest.lab.evidence.settings import HEADLINE_SYSTEMS
from crest.lab.evidence.shown import BEYOND, Chart, Claim, Help, Panel, Series, Shown, Table
from crest.lab.evidence.stats import Spread

_PREDICTS = Claim(
    text="The share that does not follow the transient orders the OOD errors, without a label", paper=BEYOND
)
_SPECTRA_PREDICT = Claim(
    text="With spectra alone exchanged, the share that does not follow the transient orders the OOD errors",
    paper=BEYOND,
)


def _spread(by_seed: Mapping[int, ModelOutcome], part: str) -> str:
    return str(Spread.of([getattr(one, part) for one in by_seed.values()]))


def _share_text(by_seed: Mapping[int, ModelOutcome], part: str) -> str:
    return Spread.of([getattr(one.shares, part) for one in by_seed.values()]).text(2)


def _remedy_table(
    name: str,
    caption: str,
    everywhere: Mapping[RemedyPlace, RemedyModels],
    picks: Mapping[RemedyPlace, Picked],
) -> Table:
    rows = []
    for place, models in everywhere.items():
        for remedy, trained in models.items():
            plain = models.get(PLAIN)
            change = "" if plain is None else percent(mean_of(trained).ood / mean_of(plain).ood - 1)
            rows.append(
                (
                    place.name,
                    f"{remedy} *" if remedy == picks[place].name else remedy,
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


def _chart(everywhere: Mapping[RemedyPlace, RemedyModels]) -> Chart:
    """A point for each trained model."""
    colours = {
        PLAIN: "scored_attention",
        "CREST": "crest",
        "CREST + exchange": "crest_exchange",
        "high-pass": "high_pass",
    }
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


def _rank(models: Sequence[ModelOutcome], by: Callable[[ModelOutcome], float]) -> float:
    found = spearmanr([by(one) for one in models], [one.ood for one in models])
    return float(found.statistic)


def _not_transient(one: ModelOutcome) -> float:
    return 1 - one.shares.transient


def _prediction(claim: Claim, everywhere: Mapping[RemedyPlace, RemedyModels], exchanged: str) -> Claim:
    by_system: dict[str, list[ModelOutcome]] = {}
    for place, models in everywhere.items():
        by_system.setdefault(place.system, []).extend(
            one for by_seed in models.values() for one in by_seed.values()
        )
    every = [one for models in by_system.values() for one in models]
    overall = _rank(every, _not_transient)
    words = ", ".join(f"{system} {_rank(models, _not_transient):.2f}" for system, models in by_system.items())
    return claim.judged(
        f"rank correlation {overall:.2f} over {len(every)} models ({words}); "
        f"the error on exchanged {exchanged} {_rank(every, exchanged_error):.2f}",
        holds=overall >= 0.8,
        partly=overall >= 0.5,
        bar="0.8 or more over all models of both simulators",
    )


def _help(pick: Picked) -> Help:
    """Plain attention, the expert's filter, and what the rule picks in a place."""
    return Help(
        place=pick.place.name,
        real=(real := pick.place.system not in HEADLINE_SYSTEMS),
        first=pick.place.encoder == "cnn" or (pick.place in TEN_PLACES and pick.place.encoder == "pointwise"),
        tied=not real,
        unit="standard deviations",
        plain=pick.means[PLAIN].ood,
        expert=pick.means["high-pass"].ood,
        expert_is="high-pass",
        repaired=pick.means[pick.name].ood,
        pick=pick.chosen or "cannot tell: as it is",
    )


def _show(found: Found) -> Shown:
    ten = {place: models for place in TEN_PLACES if (models := outcomes(found, place))}
    others = {
        place: models for place in (*BEARING_PLACES, *HARD_PLACES) if (models := outcomes(found, place))
    }
    # What `crest.choose` exchanges unless told otherwise.
    seen_ten, seen_others = (
        {place: spectral for place, models in part.items() if (spectral := by_spectra(models))}
        for part in (ten, others)
    )
    seen = seen_ten | seen_others
    # The rule itself judges by the error with what was declared exchanged, which not all seeds have been measured by.
    picks = {
        place: picked(place, by_nuisances(models))
        for place, models in (ten | others).items()
        if place in seen
    }
    complete = len(seen_ten) == len(TEN_PLACES) and all(
        found.complete(**place.fields) for place in TEN_PLACES
    )
    table = _remedy_table(
        "remedies",
        "Each remedy with each encoder, 512 training trajectories, on the seeds that all have; the plain model is "
        "MLP-scored attention. Transient share: of the prediction's variance, when the spectra of backgrounds are exchanged. "
        "* what the rule picks.",
        seen_ten,
        picks,
    )
    limits = _remedy_table(
        "elsewhere",
        "Real bearings with standardised windows, and three settings where something is missing.",
        seen_others,
        picks,
    )
    return Shown(
        tables=(
            table,
            rule_table(
                "rule",
                "What the rule picks: attention if offset, drift and tones do not move it, else the lowest error with these exchanged",
                picks.values(),
            ),
            limits,
            *guide_tables(seen, list(picks.values())),
        ),
        charts=(_chart(seen_ten),) if seen_ten else (),
        claims=(
            *judged_picks([picks[place] for place in TEN_PLACES]),
            _prediction(_PREDICTS, ten, "backgrounds"),
            _prediction(_SPECTRA_PREDICT, seen_ten, "spectra"),
        )
        if complete
        else (*PICK_CLAIMS, _PREDICTS, _SPECTRA_PREDICT),
        helps=tuple(_help(pick) for pick in picks.values()),
        notes=(
            "The rule sees errors on exchanged signals of ID data, which need no label from the field; OOD errors stand here to judge it.",
            "Picks are on the seeds that were measured with nuisances exchanged; if none was yet, spectra of backgrounds take their place.",
            "If the rule cannot tell, the model counts as left as it is.",
            "Earlier versions had other rules; docs/evidence/choices.md says what those picked and why this one took their place.",
        ),
    )


REMEDIES_EXPERIMENT = Experiment(
    name="remedies",
    evidence="Beyond the paper: docs/user/helps.md",
    summary="What helps a CNN, a GRU or a Transformer, and can one tell without field labels?",
    show=_show,
    runs=seed_by_seed((*TEN_PLACES, *HARD_PLACES, *BEARING_PLACES)),
)
