"""The other readouts on both simulators, and the reference that sees the events."""

from crest.lab.evidence.compare import against, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import by_readout, by_system, error_chart, grouped_table
from crest.lab.evidence.settings import FIVE, FORMS, HEADLINE_SYSTEMS, OTHER_READOUTS, headline_runs
from crest.lab.evidence.shown import Comparison, Shown
from crest.lab.runs.grid import grid

_HEADER = (
    "system", "readout", "ID", "OOD", "CREST against it", "p", "CiE@1", "ECM", "Prec@|E|", "chance", "seeds",
)  # fmt: skip
_NOTE = (
    "The event window averages features over the annotated steps: it knows where the events are, but not how to take "
    "away what load or drift add to them, as a contrast with the rest does. It is a reference for the place, no upper bound."
)


def _show(found: Found) -> Shown:
    groups = by_system(lambda system: by_readout(found, (*OTHER_READOUTS, *FORMS), system=system))
    results = {
        (system, readout): result
        for (system, readout), records in groups.items()
        if readout != "crest" and (result := against(groups[system, "crest"], records)) is not None
    }
    table = grouped_table(
        "readouts",
        "The same five seeds for every readout. CREST against it: relative change of the mean OOD error, "
        "one-sided paired signed-rank p; the smallest that five seeds can give is 0.031.",
        _HEADER,
        groups,
        extra={
            "CREST against it": {words: percent(result.change) for words, result in results.items()},
            "p": {words: Comparison(f"{result.p:.3f}", result.p) for words, result in results.items()},
            "seeds": {words: found.count(system=words[0], readout=words[1]) for words in groups},
        },
    )
    return Shown(
        tables=(table,), charts=(error_chart("errors", "Errors of every readout.", groups),), notes=(_NOTE,)
    )


READOUTS_EXPERIMENT = Experiment(
    name="readouts",
    evidence="Baselines and metrics",
    summary="How do the other readouts fare, and how far is the reference that sees the events?",
    show=_show,
    runs=(*grid(seed=FIVE, system=HEADLINE_SYSTEMS, readout=OTHER_READOUTS), *headline_runs(seed=FIVE)),
)
