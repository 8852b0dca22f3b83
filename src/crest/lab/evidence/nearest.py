"""Which of our settings is nearest to the paper's, by the errors that it publishes of its baselines, and by nothing else."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

from crest.lab.evidence.baselines import RECURRENT_RUNS, recurrent_baselines
from crest.lab.evidence.compare import stronger_attention
from crest.lab.evidence.cwru import HELD_LOADS
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import ATTENTION, HEADLINE_SYSTEMS, headline_runs
from crest.lab.evidence.severe import FORM_RUNS, SEVERE_RECURRENT_RUNS
from crest.lab.evidence.shown import Chart, Mark, Panel, Series, Shown, Table
from crest.lab.evidence.stats import Number
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec

DEFAULT, SEVERE, RAW = "default", "severe", "raw windows"
"""Settings: the simulators' two, and the first of the bearings'."""
GEAR, IMPACT, RECURRENT, BEARINGS = "SG-Drive", "Impact", "SG-Drive, GRU", "CWRU, held load"
"""Places whose baselines the paper has errors of."""
_PAPER: Mapping[str, tuple[float | None, float]] = {
    GEAR: (0.052, 0.404),
    IMPACT: (0.173, 1.377),
    RECURRENT: (None, 1.46),
    BEARINGS: (None, 0.874),
}
"""ID and OOD error of attention (Table 1, Main result), and of last state, ERM and group DRO (Stronger baselines)."""
_HEADER = (
    "place",
    "baseline",
    "setting",
    "ID",
    "OOD",
    "paper ID",
    "paper OOD",
    "off by",
    "stronger attention",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Setting:
    """A setting of ours beside a place of the paper's."""

    place: str
    name: str
    records: tuple[Record, ...]
    """Of the baselines that the paper has errors of."""
    stronger: str
    """The form of attention with the lower ID error; "" if it has no part in the claims."""

    def mean(self, split: str) -> float:
        """The error of a split, over all runs of the baselines."""
        return statistics.fmean(getattr(record.score, split) for record in self.records)

    @property
    def distance(self) -> float:
        """By which factor our errors are off, up or down: the geometric mean over the published ones and the runs."""
        pairs = [
            (getattr(record.score, split), error)
            for split, error in zip(("id", "ood"), _PAPER[self.place], strict=True)
            if error is not None
            for record in self.records
        ]
        return math.exp(statistics.fmean(abs(math.log(ours / theirs)) for ours, theirs in pairs))


def _forms(found: Found, place: str, name: str, runs: Sequence[RunSpec]) -> _Setting | None:
    """Attention in a setting: the paper's form, the dot product, beside the paper's errors."""
    part = found.part(runs)
    form = stronger_attention(part)
    if form is None:
        return None
    return _Setting(place=place, name=name, records=tuple(part.of(readout="attention")), stronger=named(form))


def _recurrent(found: Found, name: str, runs: Sequence[RunSpec]) -> _Setting | None:
    part = found.part(runs)
    if not part.complete():
        return None
    records = [record for group in recurrent_baselines(part).values() for record in group]
    return _Setting(place=RECURRENT, name=name, records=tuple(records), stronger="")


_BASELINES = {
    name: tuple(spec for spec in runs if spec.readout in ("last", "mean"))
    for name, runs in ((DEFAULT, RECURRENT_RUNS), (SEVERE, SEVERE_RECURRENT_RUNS))
}
_ATTENTION = {
    (place, name): tuple(spec for spec in runs if spec.readout in ATTENTION)
    for place, system in zip((GEAR, IMPACT), HEADLINE_SYSTEMS, strict=True)
    for name, runs in ((DEFAULT, headline_runs(system=[system])), (SEVERE, FORM_RUNS[system]))
} | {
    (BEARINGS, words): tuple(spec for spec in runs if spec.readout in ATTENTION)
    for words, runs in HELD_LOADS.items()
}


def _settings(found: Found) -> list[_Setting]:
    every = (
        *(_forms(found, place, name, runs) for (place, name), runs in _ATTENTION.items()),
        *(_recurrent(found, name, runs) for name, runs in _BASELINES.items()),
    )
    return [setting for setting in every if setting is not None]


def _row(setting: _Setting, nearest: bool) -> tuple[str, ...]:
    seen, unseen = _PAPER[setting.place]
    ours = [setting.mean(split) for split in ("id", "ood")]
    return (
        setting.place,
        "last state, ERM, group DRO" if setting.place == RECURRENT else named("attention"),
        f"{setting.name} *" if nearest else setting.name,
        *(Number(f"{error:.3f}", error) for error in ours),
        "" if seen is None else f"{seen:g}",
        f"{unseen:g}",
        Number(f"{setting.distance:.1f} times", setting.distance),
        setting.stronger,
    )


def _show(found: Found) -> Shown:
    rows, panels = [], []
    for place in _PAPER:
        settings = [setting for setting in _settings(found) if setting.place == place]
        nearest = min(settings, key=lambda setting: setting.distance, default=None)
        rows += [_row(setting, setting is nearest) for setting in settings]
        if settings:
            panels.append(_panel(place, settings))
    table = Table(
        name="nearest",
        caption="Errors of the paper's baselines beside ours, means over seeds. Off by: the factor between the two, the geometric mean over "
        "runs and the errors that the paper has. * the nearest setting. CREST's own errors have no part in it.",
        header=_HEADER,
        rows=tuple(rows),
    )
    chart = Chart(
        name="nearest",
        caption="OOD error of the paper's baselines in our settings, and the paper's.",
        panels=tuple(panels),
    )
    return Shown(tables=(table,), charts=(chart,) if panels else ())


def _panel(place: str, settings: Sequence[_Setting]) -> Panel:
    series = Series(
        name="OOD",
        x=[setting.name for setting in settings],
        y=[setting.mean("ood") for setting in settings],
        look="bars",
        colour="ood",
    )
    return Panel(
        title=place,
        x_label="setting",
        y_label="OOD error",
        series=(series,),
        marks=(Mark(name="paper", axis="y", at=_PAPER[place][1]),),
    )


NEAREST_EXPERIMENT = Experiment(
    name="nearest",
    evidence="Where claims are judged",
    summary="Which of our settings is nearest to the paper's, by the errors of its baselines?",
    show=_show,
    runs=tuple(spec for runs in (*_ATTENTION.values(), *_BASELINES.values()) for spec in runs),
)
