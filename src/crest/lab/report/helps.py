"""'Does it help me?': the field error as it is, after what an expert does first, and after the repair, real data first."""

import math
from collections.abc import Iterable, Sequence

from crest.lab.evidence.compare import ABOUT_EVEN, percent
from crest.lab.evidence.shown import Chart, Help, Panel, Piece, Series, Table

_BARS = (
    ("as it is", "plain", "ood"),
    ("what an expert does first", "expert", "high_pass"),
    ("crest.repair", "repaired", "crest"),
)


def helps_of(pieces: Iterable[Piece]) -> tuple[Help, ...]:
    """The places of all pieces: recordings first, those with a tie before those without."""
    every = [one for piece in pieces for one in piece.shown.helps]
    return tuple(sorted(every, key=lambda one: (not one.real, not one.tied)))


def change_of(one: Help) -> float:
    """Relative change of the field error; infinite if a model without an error gets one.

    Example:
        >>> change_of(Help(place="here", real=True, unit="error rate", plain=0.4, repaired=0.1))
        -0.75
    """
    if one.plain:
        return one.repaired / one.plain - 1
    return math.inf if one.repaired else 0.0


def help_sentences(helps: Sequence[Help]) -> tuple[str, ...]:
    """What became of the field error: on recordings with a tie one by one, then in how many places it fell, stayed or rose."""
    first = [one for one in helps if one.real and one.tied and one.first]
    errors = ", ".join(
        f"{one.place} {one.plain:.2f} → {one.repaired:.2f}"
        + (f" (expert {one.expert:.2f})" if one.expert is not None else "")
        for one in first
    )
    parts = {
        "Recordings with a misleading cue": [one for one in helps if one.real and one.tied],
        "Recordings without one": [one for one in helps if one.real and not one.tied],
        "Simulators": [one for one in helps if not one.real],
    }
    counts = tuple(f"{name}: {_counted(places)}." for name, places in parts.items() if places)
    return (*((f"Field error before → after `crest.repair`: {errors}.",) if errors else ()), *counts)


def _counted(places: Sequence[Help]) -> str:
    changes = [change_of(one) for one in places]
    lower, higher = (
        sum(change <= -ABOUT_EVEN for change in changes),
        sum(change >= ABOUT_EVEN for change in changes),
    )
    return f"lower in {lower} of {len(places)} places, about even in {len(places) - lower - higher}, higher in {higher}"


def help_chart(helps: Sequence[Help]) -> Chart | None:
    """Bars for each place of the first screen: recordings by the unit of their errors, then the simulators."""
    first = [one for one in helps if one.first and one.expert is not None]
    parts = {
        "Recordings: share of errors": [one for one in first if one.real and one.unit == "error rate"],
        "Bearings: standard deviations": [one for one in first if one.real and one.unit != "error rate"],
        "Simulators: standard deviations": [one for one in first if not one.real],
    }
    panels = tuple(_panel(title, places) for title, places in parts.items() if places)
    if not panels:
        return None
    return Chart(
        name="helps",
        caption="Field error as it is, after what an expert does first (the better one in hindsight), and after the repair; means over "
        "seeds. No field label chose a repair.",
        panels=panels,
    )


def _panel(title: str, places: Sequence[Help]) -> Panel:
    return Panel(
        title=title,
        x_label="",
        y_label="field error",
        series=tuple(
            Series(
                name=name,
                x=[_short(one.place) for one in places],
                y=[getattr(one, part) for one in places],
                look="bars",
                colour=colour,
                hover=[_words(one, part) for one in places],
            )
            for name, part, colour in _BARS
        ),
    )


def _short(place: str) -> str:
    """Without what stands in brackets: "CWRU (standardised windows), CNN" is "CWRU, CNN"."""
    before, bracket, rest = place.partition(" (")
    return before + rest.partition(")")[2] if bracket else place


def _words(place: Help, part: str) -> str:
    return {"expert": place.expert_is, "repaired": place.pick}.get(part, "")


def help_table(helps: Sequence[Help]) -> Table:
    """All places, a row for each."""
    return Table(
        name="does it help",
        caption="Field errors, means over seeds: share of errors on MIT-BIH and SisFall, standard deviations of the label elsewhere. The expert's step "
        "is the better one in hindsight; a repair is chosen without field labels. Without a misleading cue there is nothing to repair.",
        header=(
            "data, encoder",
            "data",
            "misleading cue",
            "as it is",
            "expert",
            "what the expert does",
            "crest.repair",
            "what it picks",
            "change",
        ),
        rows=tuple(
            (
                one.place,
                "real" if one.real else "simulated",
                "yes" if one.tied else "no",
                f"{one.plain:.2f}",
                "" if one.expert is None else f"{one.expert:.2f}",
                one.expert_is,
                f"{one.repaired:.2f}",
                one.pick or "differs by seed",
                percent(change) if math.isfinite(change := change_of(one)) else "from none",
            )
            for one in helps
        ),
    )
