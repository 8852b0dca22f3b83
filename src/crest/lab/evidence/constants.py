"""CREST's budget on development seeds: other ways and ranges, judged by ID error and shares alone."""

import dataclasses
import statistics
from typing import Any

from crest.lab.evidence.compare import by_seed, mean_error, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import mean_series
from crest.lab.evidence.remedy_runs import RemedyPlace
from crest.lab.evidence.settings import DEVELOPMENT_SEED, HEADLINE_SYSTEMS, OF_EACH, OF_SIGNALS
from crest.lab.evidence.shown import BEYOND, Chart, Claim, Comparison, Panel, Shown, Table
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec

_AS_IS = "as it is"
_WEIGHT = "weight 0.9 throughout"
_SETTINGS: dict[str, dict[str, Any]] = {
    _AS_IS: {},
    "each trajectory's own (the paper's)": OF_EACH,
    "of the signals": OF_SIGNALS,
    "0.01 at least": {"config": {"epsilon_min": 0.01}},
    "0.04 at least": {"config": {"epsilon_min": 0.04}},
    "0.2 at most": {"config": {"epsilon_max": 0.2}},
    "0.5 at most": {"config": {"epsilon_max": 0.5}},
    _WEIGHT: {"alpha": 0.9},
}


def _places(*encoders: str) -> tuple[RemedyPlace, ...]:
    return tuple(
        RemedyPlace(system=system, encoder=encoder) for encoder in encoders for system in HEADLINE_SYSTEMS
    )


# Both were named before these runs; of the signals' budget some ID errors on these seeds were known. our choice: docs/evidence/choices.md#budget-again
_LOWER = -0.05
"""So much lower an ID error is a reason to change a constant."""
_SHARE = 0.02
"""So much may the share that does not follow the transient rise for it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Round:
    """Some settings on some development seeds, and what is claimed of them."""

    name: str
    claim: Claim
    settings: tuple[str, ...]
    seeds: range
    places: tuple[RemedyPlace, ...] = _places("pointwise", "gru")
    known: str = ""
    """What had been seen before the rule was named."""

    @property
    def runs(self) -> tuple[RunSpec, ...]:
        return tuple(
            RunSpec(
                **{
                    **place.fields,
                    "readout": "crest",
                    "readout_options": place.crest_options(**_SETTINGS[name]),
                },
                seed=seed,
                measures=("exchange",),
            )
            for seed in self.seeds
            for place in self.places
            for name in self.settings
        )

    @property
    def words(self) -> str:
        return f"{self.seeds[0]} to {self.seeds[-1]}"


_FIRST = _Round(
    name="constants",
    claim=Claim(
        text="No other way or range of CREST's budget does better on development seeds by ID error and shares",
        paper=BEYOND,
    ),
    settings=tuple(name for name in _SETTINGS if name != _WEIGHT),
    seeds=range(DEVELOPMENT_SEED, DEVELOPMENT_SEED + 2),
    known="Some ID errors with the signals' budget were known before the rule. ",
)
# Two seeds cannot tell a setting from one model that learnt badly. Named before these runs: of what passed, the setting with the lowest
# ID error here becomes the default if it passes here too. What came of it, and why not all of it: docs/evidence/choices.md#budget-again
_AGAIN = _Round(
    name="constants_again",
    claim=Claim(
        text="No budget that did better on the first development seeds does better again on four fresh ones",
        paper=BEYOND,
    ),
    settings=(_AS_IS, "of the signals", "0.01 at least", "0.04 at least"),
    seeds=range(DEVELOPMENT_SEED + 2, DEVELOPMENT_SEED + 6),
)
# The weight was found beside budgets that do not drift (`crest report steady`); the rule is that of the rounds before.
_OF_WEIGHT = _Round(
    name="constants_weight",
    claim=Claim(
        text="A contrast weight of 0.9 does no better on fresh development seeds than the one that follows the budget",
        paper=BEYOND,
    ),
    settings=(_AS_IS, _WEIGHT),
    seeds=range(DEVELOPMENT_SEED + 12, DEVELOPMENT_SEED + 14),
    places=_places("pointwise", "gru", "cnn", "attention"),
    known="The weight did well on seeds 1010 and 1011. ",
)
_ROUNDS = (_FIRST, _AGAIN, _OF_WEIGHT)


def _records(found: Found, place: RemedyPlace, setting: str) -> list[Record]:
    return found.of(
        system=place.system, encoder=place.encoder, readout_options=place.crest_options(**_SETTINGS[setting])
    )


def _change(found: Found, of: _Round, setting: str) -> float | None:
    """The ID error against that of CREST as it is: the geometric mean over places and seeds; None before all are there."""
    if not found.complete():
        return None
    ratios = (
        other.score.id / own.score.id
        for place in of.places
        for other, own in zip(_records(found, place, setting), _records(found, place, _AS_IS), strict=True)
    )
    return statistics.geometric_mean(ratios) - 1


def _astray(found: Found, of: _Round, setting: str) -> float | None:
    """The mean share that does not follow the transient, spectra exchanged."""
    shares = [record.spectral for place in of.places for record in _records(found, place, setting)]
    measured = [1 - one.transient for one in shares if one is not None]
    return statistics.fmean(measured) if measured and len(measured) == len(shares) else None


def _row(found: Found, of: _Round, setting: str) -> tuple[str, ...]:
    places = [_records(found, place, setting) for place in of.places]
    change, astray = _change(found, of, setting), _astray(found, of, setting)
    return (
        setting,
        *(f"{mean_error(records, 'id'):.3f}" if records else "-" for records in places),
        "-" if change is None else percent(change, 1),
        "-" if astray is None else Comparison(f"{astray:.3f}", astray),
    )


def _lower_in(found: Found, of: _Round, setting: str) -> str:
    """In how many models the ID error is lower than that of CREST as it is."""
    pairs = [
        (other.score.id, own.score.id)
        for place in of.places
        for other, own in zip(_records(found, place, setting), _records(found, place, _AS_IS), strict=True)
    ]
    return f"{sum(other < own for other, own in pairs)} of {len(pairs)}"


def _judged(found: Found, of: _Round) -> Claim:
    own = _astray(found, of, _AS_IS)
    changes, better = {}, {}
    for setting in of.settings:
        change, astray = _change(found, of, setting), _astray(found, of, setting)
        if own is None or change is None or astray is None:
            return of.claim
        changes[setting] = change
        if change <= _LOWER and astray <= own + _SHARE:
            better[setting] = change
    if better:
        ordered = sorted(better, key=better.__getitem__)
        words = "better by the rule: " + ", ".join(
            f"{setting} ({percent(better[setting], 1)}, lower in {_lower_in(found, of, setting)} models)"
            for setting in ordered
        )
    else:
        lowest = min(changes, key=changes.__getitem__)
        words = f"none; lowest ID error: {lowest} ({percent(changes[lowest], 1)})"
    return of.claim.judged(
        words,
        holds=not better,
        partly=False,
        bar=f"no setting has an ID error of {percent(_LOWER)} or below (geometric mean) with a share beside the transient that is higher "
        f"by {_SHARE} at most",
        seeds=len(of.seeds),
    )


def _table(found: Found, of: _Round) -> Table:
    return Table(
        name=of.name,
        caption=f"ID errors on development seeds {of.words}, 512 training trajectories; no OOD error is used. {of.known}Against: the "
        "geometric mean over places and seeds against CREST as it is (pooled, between 0.02 and 0.3). Beside the transient: the share of "
        "the prediction that does not follow it, spectra exchanged.",
        header=("setting", *(f"ID, {place.name}" for place in of.places), "against", "beside the transient"),
        rows=tuple(_row(found, of, setting) for setting in of.settings),
    )


def _panel(found: Found, of: _Round, place: RemedyPlace) -> Panel | None:
    errors = {
        setting: list(by_seed(records, "id").values())
        for setting in of.settings
        if (records := _records(found, place, setting))
    }
    if not errors:
        return None
    return Panel(
        title=place.name, x_label="", y_label="ID error", series=(mean_series("ID error", errors, "id"),)
    )


def _chart(found: Found, of: _Round) -> Chart | None:
    panels = tuple(panel for place in of.places if (panel := _panel(found, of, place)) is not None)
    caption = f"ID errors by setting, on development seeds {of.words}."
    return Chart(name=of.name, caption=caption, panels=panels) if panels else None


def _show(found: Found) -> Shown:
    parts = [(found.part(one.runs), one) for one in _ROUNDS]
    first, *later = (_judged(*part) for part in parts)
    return Shown(
        tables=tuple(_table(*part) for part in parts),
        charts=tuple(chart for part in parts if (chart := _chart(*part)) is not None),
        # What is claimed of later rounds is about what the first found.
        claims=(
            first,
            *(claim if first.measured else one.claim for claim, one in zip(later, _ROUNDS[1:], strict=True)),
        ),
    )


CONSTANTS_EXPERIMENT = Experiment(
    name="constants",
    evidence="docs/evidence/choices.md, range of the budget",
    summary="Would another budget have been chosen without a look at any OOD error?",
    show=_show,
    runs=tuple(spec for one in _ROUNDS for spec in one.runs),
)
