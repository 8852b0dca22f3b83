"""Are the schedules long enough? Errors over training, on a development seed."""

import statistics
from typing import Any

from crest.lab.evidence.compare import percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import DEVELOPMENT_SEED, FORMS, HEADLINE_SYSTEMS, OF_SIGNALS
from crest.lab.evidence.shown import BEYOND, Chart, Claim, Comparison, Panel, Series, Shown, Table
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record
from crest.lab.training import SCHEDULES

_CLAIM = Claim(
    text="Mean, both forms of attention and CREST have converged at the end of the schedule",
    paper="trained to convergence",
)
_SIGNALS_CLAIM = Claim(
    text="CREST with the budget of the signals has converged at the end of the schedule",
    paper=BEYOND,
)
_GRU_CLAIM = Claim(
    text="Attention (MLP) and CREST behind a GRU have converged at the end of the schedule",
    paper=BEYOND,
)
_LAST = 0.1
"""Share of the schedule over which the ID error should hardly fall any more."""


def _fall(record: Record) -> float:
    """Relative fall of the ID error over the last tenth of the schedule."""
    looks = record.looks
    start = (1 - _LAST) * looks[-1].epoch
    earlier = max((look for look in looks if look.epoch <= start), key=lambda look: look.epoch)
    return 1 - looks[-1].score.id / earlier.score.id


def _name(record: Record) -> str:
    return f"{named(record.spec.readout)}{', budget of the signals' if record.spec.readout_options else ''}"


def _panel(system: str, encoder: str, records: list[Record]) -> Panel:
    series = tuple(
        Series(
            name=f"{_name(record)}, {split.upper()}",
            x=[look.epoch for look in record.looks],
            y=[getattr(look.score, split) for look in record.looks],
            look="line" if split == "id" else "dashed",
            colour="core" if record.spec.readout_options else record.spec.readout,
        )
        for record in records
        for split in ("id", "ood")
    )
    return Panel(
        title=f"{named(system)}, {encoder}", x_label="epoch", y_label="error", series=series, log_y=True
    )


def _usual(found: Found) -> list[Record]:
    """The runs of their encoder's own schedule."""
    return [
        record for record in found.records.values() if record.spec.training == SCHEDULES[record.spec.encoder]
    ]


def _longer(found: Found, record: Record) -> Record | None:
    """The same run with twice as many epochs, if there is one."""
    spec = record.spec
    doubled = {"schedule": spec.training.times(2)}
    runs = found.of(system=spec.system, encoder=spec.encoder, readout=spec.readout, **doubled)
    return runs[0] if runs else None


def _judged(claim: Claim, found: Found) -> Claim:
    usual = _usual(found)
    falls = [_fall(record) for record in usual]
    pairs = [(record, longer) for record in usual if (longer := _longer(found, record)) is not None]
    # A trial has one schedule, so it has no run with twice the epochs.
    if not found.complete() or not pairs:
        return claim
    ratios = {
        split: [getattr(b.score, split) / getattr(a.score, split) - 1 for a, b in pairs]
        for split in ("id", "ood")
    }
    furthest = max(map(abs, ratios["id"]))
    return claim.judged(
        f"ID error falls by {statistics.median(falls):.1%} (median) and at most {max(falls):.1%} in the last tenth; "
        f"twice as many epochs change it by {percent(min(ratios['id']))} to {percent(max(ratios['id']))} and the OOD error "
        f"by {percent(min(ratios['ood']))} to {percent(max(ratios['ood']))}",
        holds=max(falls) < 0.05 and furthest < 0.10,
        partly=statistics.median(falls) < 0.02 and furthest < 0.20,
        bar="at most 5 % in the last tenth, and twice the epochs change no ID error by more than 10 %, up or down",
        seeds=1,
    )


def _budget(record: Record) -> str:
    return f"{record.budget['id'].epsilon:.3f}" if record.budget else ""


def _show(found: Found) -> Shown:
    places: dict[tuple[str, str], list[Record]] = {}
    for record in _usual(found):
        places.setdefault((record.spec.system, record.spec.encoder), []).append(record)
    panels = tuple(_panel(*place, records) for place, records in places.items())
    rows = tuple(
        (
            named(record.spec.system),
            record.spec.encoder,
            f"{record.spec.training.epochs}",
            _name(record),
            _budget(record),
            f"{record.score.id:.3f}",
            f"{record.score.ood:.3f}",
            Comparison(f"{_fall(record):.1%}", _fall(record)),
        )
        for record in found.records.values()
    )
    table = Table(
        name="convergence",
        caption="Development seed 1000. Budget: CREST's at the end. Fall: how much lower the ID error is than a tenth of the schedule before.",
        header=("system", "encoder", "epochs", "readout", "budget", "ID", "OOD", "fall"),
        rows=rows,
    )
    chart = Chart(name="convergence", caption="Errors over training; ID solid, OOD dashed.", panels=panels)
    parts = ((_CLAIM, _RUNS), (_SIGNALS_CLAIM, _SIGNALS_RUNS), (_GRU_CLAIM, _GRU_RUNS))
    claims = tuple(_judged(claim, found.part(runs)) for claim, runs in parts)
    return Shown(tables=(table,), charts=(chart,) if panels else (), claims=claims)


def _times(factor: int, encoder: str = "pointwise") -> dict[str, Any]:
    """So many times the epochs of an encoder's schedule, looked at as often."""
    return {"encoder": encoder, "schedule": SCHEDULES[encoder].times(factor), "observe_every": 4 * factor}


_LONGER = _times(2)
_HERE = {"seed": DEVELOPMENT_SEED, "system": HEADLINE_SYSTEMS}
_RUNS = (
    *grid(**_HERE, readout=("mean", *FORMS), observe_every=4),
    *grid([_LONGER], **_HERE, readout=FORMS),
)
_SIGNALS_RUNS = grid([{"observe_every": 4}, _LONGER], **_HERE, readout="crest", readout_options=OF_SIGNALS)
# Four times tell whether twice would do.
_GRU_RUNS = grid([_times(factor, "gru") for factor in (1, 2, 4)], **_HERE, readout=FORMS[1:])

CONVERGENCE_EXPERIMENT = Experiment(
    name="convergence",
    evidence="docs/evidence/choices.md, schedules",
    summary="Has every readout converged by the end of its encoder's schedule?",
    show=_show,
    runs=(*_RUNS, *_SIGNALS_RUNS, *_GRU_RUNS),
)
