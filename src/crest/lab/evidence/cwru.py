"""CWRU bearings: a held-out load and a held-out bearing, raw and standardised, with what the level alone achieves beside."""

import dataclasses
from typing import Any

from crest.lab.evidence.compare import contest, lower_error_claim, own_contest, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import Words, error_panel, errors_of, grouped_table
from crest.lab.evidence.names import ENCODER_NAMES, named
from crest.lab.evidence.settings import FEW_READOUTS, FIVE, FORMS, THREE
from crest.lab.evidence.shown import Chart, Claim, Panel, Shown, Table
from crest.lab.evidence.stats import Spread
from crest.lab.runs.grid import grid
from crest.lab.runs.naming import naming
from crest.lab.runs.record import Record
from crest.lab.runs.study import Study
from crest.lab.systems import CwruSystem, make_system
from crest.lab.systems.cwru.rms_baselines import rms_baselines

_SPLITS = {"default": "held load", "bearing": "held bearing"}
_HEADER = ("split", "readout", "ID", "OOD", "ΔOOD", "CiE@1", "chance", "seeds")
_PAPER = (
    ("held load, paper", "attention", "", "0.874", "", "", "", "5"),
    ("held load, paper", "CREST", "", "0.589", "−33 %", "", "", "5"),
)
_STANDARDIZED = {"standardized": True}


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Place:
    """A split of the bearings, their windows as they are or standardised one by one, and an encoder."""

    regime: str
    standardized: bool = False
    encoder: str = "pointwise"

    @property
    def words(self) -> str:
        windows = ", standardised windows" if self.standardized else ""
        encoder = "" if self.encoder == "pointwise" else f", {ENCODER_NAMES[self.encoder]}"
        return f"{_SPLITS[self.regime]}{windows}{encoder}"

    @property
    def fields(self) -> dict[str, Any]:
        options = _STANDARDIZED if self.standardized else {}
        return {"regime": self.regime, "system_options": options, "encoder": self.encoder}


_RAW = tuple(_Place(regime=regime) for regime in _SPLITS)
_SCALED = tuple(
    _Place(regime=regime, standardized=True, encoder=encoder)
    for encoder in ("pointwise", "local")
    for regime in _SPLITS
)
_LEVEL = Claim(text="The held load breaks the smooth cue", paper="assumed")


def level_alone(seeds: list[int], system: dict[str, Any]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Errors of two readers of the log-RMS, by split, reader and part."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for regime in _SPLITS:
        for seed in seeds:
            for score in rms_baselines(make_system("cwru", regime, **system).splits(seed)):
                parts = found.setdefault(regime, {}).setdefault(score.reader, {"id": [], "ood": []})
                parts["id"].append(score.id)
                parts["ood"].append(score.ood)
    return found


# The study's name depends on the system's parameters: a result for other windows has another name.
_PARAMETERS = {
    name: value
    for name, value in naming(CwruSystem, dataclasses.asdict(make_system("cwru"))).items()
    if name not in ("folder", "split", "recordings")
}
LEVEL_STUDY = Study(
    name="level_alone", compute=level_alone, parameters={"seeds": list(FIVE), "system": _PARAMETERS}
)
SCALED_LEVEL_STUDY = Study(
    name="level_alone_standardized",
    compute=level_alone,
    parameters={"seeds": list(FIVE), "system": {**_PARAMETERS, **_STANDARDIZED}},
)


def _groups(found: Found, place: _Place) -> dict[str, list[Record]]:
    return {
        readout: found.of(**place.fields, readout=readout)
        for readout in FEW_READOUTS
        if found.declared(**place.fields, readout=readout)
    }


def _levels(found: Found, place: _Place) -> dict[str, dict[str, list[float]]]:
    """Errors of the readers of the level of such windows, beside the first encoder only."""
    study = SCALED_LEVEL_STUDY if place.standardized else LEVEL_STUDY
    shown = found.studies.get(study.name, {}) if place.encoder == "pointwise" else {}
    return dict(shown.get(place.regime, {}))


def _rows(found: Found, place: _Place) -> list[tuple[str, ...]]:
    """The readouts of a place, then the readers of the level alone."""
    duel = contest(found, **place.fields)
    groups: dict[Words, list[Record]] = {
        (place.words, readout): records for readout, records in _groups(found, place).items()
    }
    table = grouped_table(
        "",
        "",
        _HEADER,
        groups,
        extra={
            "ΔOOD": {} if duel is None else {(place.words, "crest"): percent(duel.ood.change)},
            "seeds": {words: found.count(**place.fields, readout=words[1]) for words in groups},
        },
        starred=[] if duel is None else [(place.words, duel.form)],
    )
    rows = list(table.rows)
    for reader, errors in _levels(found, place).items():
        seen, unseen = (str(Spread.of(errors[part])) for part in ("id", "ood"))
        rows.append((place.words, f"level alone, {reader}", seen, unseen, "", "", "", f"{len(errors['id'])}"))
    return rows


def _panel(found: Found, place: _Place) -> Panel:
    """Errors of the readouts, and of the readers of the level, that are there."""
    errors = errors_of(_groups(found, place))
    for split, by_name in errors.items():
        by_name |= {f"level, {reader}": parts[split] for reader, parts in _levels(found, place).items()}
    return error_panel(place.words, errors)


def _lower_claim(found: Found, place: _Place, *, own: bool) -> Claim:
    setting = place.words.removeprefix(_SPLITS[place.regime])
    rival = f", attention being {named('attention')}" if own else ""
    claim = Claim(
        text=f"CREST lowers the held-load error on CWRU{setting}{rival}", paper="−33 % (0.874 to 0.589)"
    )
    duel = (own_contest if own else contest)(found, **place.fields)
    return claim if duel is None else lower_error_claim(claim, -0.33, duel.ood, named(duel.form))


def _level_claim(level: dict[str, Any]) -> Claim:
    if not level:
        return _LEVEL
    errors = {reader: Spread.of(parts["ood"]) for reader, parts in level["default"].items()}
    words = "; ".join(f"{reader} {spread.mean:.3f}" for reader, spread in errors.items())
    return _LEVEL.judged(
        f"held-load error of the level alone: {words}",
        holds=min(spread.mean for spread in errors.values()) > 0.3,
        partly=False,
        bar="no reader of the level alone gets below 0.3",
        seeds=len(next(iter(level["default"].values()))["ood"]),
        brief=f"the level alone reaches {min(spread.mean for spread in errors.values()):.3f}",
    )


HELD_LOADS = {
    place.words.removeprefix(_SPLITS["default"]).removeprefix(", ") or "raw windows": tuple(
        grid([place.fields], seed=FIVE, system="cwru", readout=FORMS)
    )
    for place in (*_RAW, *_SCALED)
    if place.regime == "default"
}
"""The runs of each kind of windows and encoder with the held load, by what to call it."""


def _show(found: Found) -> Shown:
    places = (*_RAW, *_SCALED)
    table = Table(
        name="cwru",
        caption="Fault diameter from 1024 samples of real drive-end acceleration. Level alone: log-RMS of the window, "
        "read by a line and by 15 nearest neighbours. * the form of attention compared with. A quarter of the "
        "recordings (0.028 inch) is hardly impulsive: credit means little there.",
        header=_HEADER,
        rows=(*(row for place in places for row in _rows(found, place)), *_PAPER),
    )
    panels = tuple(_panel(found, place) for place in places)
    return Shown(
        tables=(table,),
        charts=(Chart(name="cwru", caption="Errors on the bearings.", panels=panels),),
        claims=(
            *(
                _lower_claim(found, place, own=own)
                for own in (False, True)
                for place in places
                if place.regime == "default"
            ),
            _level_claim(found.studies.get(LEVEL_STUDY.name, {})),
        ),
        notes=(
            "If the level alone solves a split, the smooth cue is not broken by it: there is nothing to repair, and a contrast "
            "that takes the level away can only lose.",
            "Both sides of the held load have the same four bearings. The held bearing (0.014 inch) has one label out of "
            "distribution, so its error is a bias; a constant gets 0.535.",
            "Standardised windows, as the paper's protocol probably had them, take the level away before any model sees it.",
        ),
    )


CWRU_EXPERIMENT = Experiment(
    name="cwru",
    evidence="CWRU bearings, Figure 4",
    summary="Does CREST help on a real held-out load, and on a bearing never seen?",
    show=_show,
    runs=(
        *grid(seed=FIVE, system="cwru", readout=FORMS),
        *grid(seed=THREE, system="cwru", readout=["mean", "event_window"]),
        *grid(seed=THREE, system="cwru", regime="bearing", readout=FORMS),
        *grid([place.fields for place in _SCALED], seed=FIVE, system="cwru", readout=FORMS),
    ),
    studies=(LEVEL_STUDY, SCALED_LEVEL_STUDY),
)
