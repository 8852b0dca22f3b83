"""Figure 2: errors and event credit of attention while it trains."""

import statistics
from collections.abc import Sequence

from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import ATTENTION, FIVE
from crest.lab.evidence.shown import Chart, Claim, Mark, Panel, Series, Shown, Table
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record


def unjudged_course(form: str) -> Claim:
    """What the paper claims of training a form of attention."""
    return Claim(
        text=f"While {named(form)} trains, its event credit peaks early and then falls below chance",
        paper="peak early, end below chance",
    )


class Course:
    """Errors and credit over epochs, averaged over seeds."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.seeds = len(records)
        self.epochs = [look.epoch for look in records[0].looks]
        columns = list(zip(*(record.looks for record in records), strict=True))
        self.id = [statistics.fmean(look.score.id for look in looks) for looks in columns]
        self.ood = [statistics.fmean(look.score.ood for look in looks) for looks in columns]
        means = [[look.credit for look in looks if look.credit is not None] for looks in columns]
        self.cie = [statistics.fmean(part.cie for part in parts) for parts in means]
        self.chance = statistics.fmean(part.chance for parts in means for part in parts)

    @property
    def peak(self) -> int:
        """Place of the highest credit."""
        return max(range(len(self.cie)), key=self.cie.__getitem__)


def _panels(form: str, course: Course) -> tuple[Panel, Panel]:
    errors = tuple(
        Series(name=f"{split.upper()} error", x=course.epochs, y=values, colour=split)
        for split, values in (("id", course.id), ("ood", course.ood))
    )
    credit = Series(name="CiE@1", x=course.epochs, y=course.cie, colour=form)
    chance = Mark(name="chance", axis="y", at=course.chance)
    return (
        Panel(title=f"{named(form)}: errors", x_label="epoch", y_label="error", series=errors, log_y=True),
        Panel(
            title=f"{named(form)}: credit",
            x_label="epoch",
            y_label="CiE@1",
            series=(credit,),
            marks=(chance,),
        ),
    )


def course_claim(form: str, course: Course) -> Claim:
    """The same, judged by what was seen."""
    peak, last = course.cie[course.peak], course.cie[-1]
    early = peak > course.chance and course.epochs[course.peak] <= course.epochs[-1] / 2
    return unjudged_course(form).judged(
        f"peak {peak:.2f} at epoch {course.epochs[course.peak]} of {course.epochs[-1]}, end {last:.2f}, "
        f"chance {course.chance:.2f}; OOD {course.ood[-1] / course.id[-1]:.1f} times ID at the end",
        holds=early and last < course.chance,
        partly=early and peak - last >= (peak - course.chance) / 2,
        bar="the peak is above chance and in the first half, and the end below chance; in part, half of the way down to it",
        seeds=course.seeds,
        brief=f"peak {peak:.2f}, end {last:.2f}, chance {course.chance:.2f}",
    )


def _show(found: Found) -> Shown:
    courses = {form: Course(records) for form in ATTENTION if (records := found.of(readout=form))}
    claims = tuple(
        course_claim(form, courses[form]) if found.complete() else unjudged_course(form) for form in ATTENTION
    )
    table = Table(
        name="dynamics",
        caption="Means over seeds at three moments of training.",
        header=("readout", "epoch", "ID", "OOD", "CiE@1", "chance"),
        rows=tuple(
            (
                named(name),
                str(course.epochs[place]),
                f"{course.id[place]:.3f}",
                f"{course.ood[place]:.3f}",
                f"{course.cie[place]:.2f}",
                f"{course.chance:.2f}",
            )
            for name, course in courses.items()
            for place in sorted({0, course.peak, len(course.epochs) - 1})
        ),
    )
    chart = Chart(
        name="dynamics",
        caption="Errors and Credit-in-Event over training on SG-Drive, means over seeds.",
        panels=tuple(panel for name, course in courses.items() for panel in _panels(name, course)),
    )
    return Shown(tables=(table,), charts=(chart,) if courses else (), claims=claims)


DYNAMICS_EXPERIMENT = Experiment(
    name="dynamics",
    evidence="Figure 2",
    summary="What happens to event credit while attention learns?",
    show=_show,
    runs=grid(seed=FIVE, system="gear", readout=ATTENTION, observe_every=4),
)
