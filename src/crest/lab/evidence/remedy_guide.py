"""Which remedy when: what the rule picks for each encoder and kind of cue, beside the trivial remedies."""

import statistics
from collections.abc import Mapping, Sequence

from crest.lab.evidence.compare import percent
from crest.lab.evidence.names import ENCODER_NAMES, named
from crest.lab.evidence.remedy_rule import Picked
from crest.lab.evidence.remedy_runs import (
    PLAIN,
    REMEDY_NAMES,
    TRIVIAL,
    ModelOutcome,
    RemedyModels,
    RemedyPlace,
    mean_of,
)
from crest.lab.evidence.shown import Table

CUES = {"gear": "level of the speed", "impact": "amplitude of a vibration", "cwru": "another load"}
"""What breaks in the field, by system."""
HELP = 0.05
"""A pick helps if it lowers the OOD error by this share or more: the bar of the claims on the picks too."""


def guide_tables(
    everywhere: Mapping[RemedyPlace, RemedyModels], picks: Sequence[Picked]
) -> tuple[Table, ...]:
    """What is picked in each place, how the remedies fare with each encoder, and where the pick does not help."""
    ordered = sorted(picks, key=lambda pick: list(ENCODER_NAMES).index(pick.place.encoder))
    return (
        _by_place(everywhere, ordered),
        _by_encoder(everywhere, ordered),
        _without_help(everywhere, ordered),
    )


def changes(models: RemedyModels, remedy: str) -> dict[int, float]:
    """Relative change of the OOD error against plain attention, by seed."""
    return {seed: one.ood / models[PLAIN][seed].ood - 1 for seed, one in models[remedy].items()}


def mean_change(models: RemedyModels, remedy: str) -> float:
    """Relative change of the OOD error against plain attention, of the means over seeds."""
    return mean_of(models[remedy]).ood / mean_of(models[PLAIN]).ood - 1


def _errors(by_seed: Mapping[int, ModelOutcome]) -> str:
    mean = mean_of(by_seed)
    return f"{mean.id:.3f} / {mean.ood:.3f}"


def _field(place: RemedyPlace) -> str:
    """A system, what breaks there, and what is special about the setting."""
    more = f"; {place.words}" if place.words else ""
    return f"{named(place.system)}: {CUES[place.system]}{more}"


def _chosen(pick: Picked) -> str:
    return pick.chosen or f"{PLAIN} (cannot tell)"


def _by_place(everywhere: Mapping[RemedyPlace, RemedyModels], picks: Sequence[Picked]) -> Table:
    rows = []
    for pick in picks:
        models = everywhere[pick.place]
        rows.append(
            (
                ENCODER_NAMES[pick.place.encoder],
                _field(pick.place),
                _errors(models[PLAIN]),
                _chosen(pick),
                _errors(models[pick.name]),
                percent(pick.change),
                percent(max(changes(models, pick.name).values())),
                *(percent(mean_change(models, name)) for name in TRIVIAL),
                f"{pick.seeds}",
            )
        )
    return Table(
        name="which",
        caption="What the rule picks for each encoder and kind of cue: the lowest error on exchanged backgrounds. "
        "Changes of the OOD error are against plain attention, means over seeds; worst seed: of the pick.",
        header=(
            "encoder",
            "what breaks in the field",
            "plain, ID / OOD",
            "pick",
            "pick, ID / OOD",
            "ΔOOD, pick",
            "worst seed",
            *(f"ΔOOD, {name}" for name in TRIVIAL),
            "seeds",
        ),
        rows=tuple(rows),
    )


def _by_encoder(everywhere: Mapping[RemedyPlace, RemedyModels], picks: Sequence[Picked]) -> Table:
    remedies = [name for name in REMEDY_NAMES if name != PLAIN]
    rows = []
    for encoder in dict.fromkeys(pick.place.encoder for pick in picks):
        there = [pick for pick in picks if pick.place.encoder == encoder]
        by_remedy = [
            [mean_change(everywhere[pick.place], name) for pick in there if everywhere[pick.place].get(name)]
            for name in remedies
        ]
        cells = [_middle_and_worst(found) for found in ([pick.change for pick in there], *by_remedy)]
        rows.append((ENCODER_NAMES[encoder], f"{len(there)}", *cells))
    return Table(
        name="by encoder",
        caption="Change of the OOD error against plain attention in the places of each encoder: the median, and in brackets the worst.",
        header=("encoder", "places", "the rule's pick", *remedies),
        rows=tuple(rows),
    )


def _middle_and_worst(found: Sequence[float]) -> str:
    return f"{percent(statistics.median(found))} ({percent(max(found))})" if found else "-"


def _without_help(everywhere: Mapping[RemedyPlace, RemedyModels], picks: Sequence[Picked]) -> Table:
    rows = []
    for pick in (pick for pick in picks if pick.change > -HELP):
        best = mean_change(everywhere[pick.place], pick.best)
        rows.append(
            (
                ENCODER_NAMES[pick.place.encoder],
                _field(pick.place),
                _chosen(pick),
                percent(pick.change),
                pick.best,
                percent(best),
                "the rule" if best <= -HELP else "every remedy",
            )
        )
    return Table(
        name="without help",
        caption="Where the pick does not lower the OOD error by 5 % or more, beside the best in hindsight, which needs field labels to know.",
        header=(
            "encoder",
            "what breaks in the field",
            "pick",
            "ΔOOD, pick",
            "best in hindsight",
            "ΔOOD, best",
            "what fails",
        ),
        rows=tuple(rows),
    )
