"""The page of cues: what the target can be read from, as bars, and how target and condition are tied."""

from crest._base.fragment import FindingMark
from crest._base.words import listed
from crest._cues.result import CALLED, CUE_NUISANCES, FOUND, Cue, Cues
from crest._pages.finding_page import PageSection, finding_page
from crest._pages.panels import (
    BarPanel,
    BarRow,
    FindingLine,
    FirstScreen,
    MatrixCell,
    MatrixPanel,
    PanelBar,
)
from crest._pages.tie_panel import tie_panel
from crest.exchange.ties import Tie

_WORDS: dict[FindingMark, str] = {"good": "no shortcut", "doubt": "a shortcut", "bad": "a shortcut"}


def cues_page(cues: Cues, *, title: str, intro: str = "") -> str:
    """The page, as text.

    Args:
        cues: what `crest.cues` returned.
        title: its heading.
        intro: a text below the pictures; an empty line begins a paragraph.
    """
    left = f"each of {cues.groups} groups" if cues.groups else "each trajectory"
    rows = tuple(
        (
            CALLED.get(row.name, row.name),
            f"{row.score:.2f}",
            f"{row.interval[0]:.2f} to {row.interval[1]:.2f}",
            "" if row.around is None else f"{row.around:.2f}",
            "" if row.by_condition is None else f"{row.by_condition:.2f}",
        )
        for row in cues.rows
    )
    header = ("read from", cues.measure, "95 % interval", "without events", "by condition")
    kept = [place for place in range(len(header)) if any(row[place] for row in rows)]
    sections = [
        PageSection(
            "What it means",
            (*cues.sentences, f"Of {cues.trajectories} trajectories, {left} was left out in turn."),
        ),
        PageSection(
            "Numbers",
            (),
            tuple(header[place] for place in kept),
            tuple(tuple(row[place] for place in kept) for row in rows),
        ),
    ]
    return finding_page(cues_screen(cues), sections, title=title, intro=intro, notes=cues.notes)


def cues_screen(cues: Cues) -> FirstScreen:
    """The first screen: whether a nuisance tells the target, and the score of each reader."""
    tie = None if cues.tie is None else cues_tie_panel(cues.tie, cues.classes)
    return FirstScreen(
        findings=(cues_line(cues),),
        left=(cue_panel(cues),),
        right=() if tie is None else (tie,),
    )


def cues_line(cues: Cues) -> FindingLine:
    """Red or amber if a nuisance tells the target."""
    brief = next((row for row in cues.rows if row.name == "core"), None)
    names = cues.shortcuts
    besides = "" if brief is None else f"; what is brief {_told(cues, brief)}"
    if not names:
        return FindingLine(
            mark=cues.mark,
            word=_WORDS[cues.mark],
            sentence=f"No nuisance alone tells the target{besides}.",
            todo="Train, then audit the model: a network may still follow several things together.",
        )
    most = cues[names[0]]
    others = f" ({listed(names[1:])} too)" if len(names) > 1 else ""
    invariant = "(" + ", ".join(f'"{name}"' for name in names) + (",)" if len(names) == 1 else ")")
    return FindingLine(
        mark=cues.mark,
        word=_WORDS[cues.mark],
        sentence=f"A network can read the target from the {names[0]} alone: it {_told(cues, most)}{others}{besides}.",
        todo=f"If {listed(names)} {'does' if len(names) == 1 and names[0] != 'tones' else 'do'} not cause the target, pass "
        f"invariant={invariant} to crest.audit and crest.repair.",
    )


def _told(cues: Cues, row: Cue) -> str:
    if cues.classes:
        return f"tells {100 * row.score:.0f} % of the classes right (chance {100 * row.chance:.0f} %)"
    return f"explains {100 * row.share:.0f} % of it"


def cue_panel(cues: Cues) -> BarPanel:
    """How well the target is read from each thing; red for a nuisance that tells it."""
    chance = cues.rows[0].chance if cues.rows else 0.0

    def row(one: Cue) -> BarRow:
        nuisance = one.name in CUE_NUISANCES
        return BarRow(
            name=CALLED.get(one.name, one.name),
            bars=(
                PanelBar(
                    value=max(one.score, 0.0),
                    low=max(one.interval[0], 0.0),
                    high=max(one.interval[1], 0.0),
                    above=one.name in cues.shortcuts,
                ),
            ),
            note="of the events" if one.of_events and one.found else "",
            faint=not nuisance and one.name != "core",
            strong=one.name == "core",
        )

    return BarPanel(
        title="What tells the target",
        rows=tuple(map(row, cues.rows)),
        models=("",),
        unit=f"{cues.measure} of trajectories that were left out; lines: 95 % intervals",
        line=chance + FOUND * (1 - chance),
        line_name="from here it counts",
        caption="A simple reader for each, without a network. Red: a nuisance from which a network can read the target.",
        least=1.0,
    )


def cues_tie_panel(tie: Tie, classes: tuple[str, ...]) -> MatrixPanel | None:
    """How many trajectories each pair of target and condition has; None if there are too many for a table."""
    counts = tie.counts.tolist()
    most = max(1, *(count for row in counts for count in row))
    tied = f"{'Tied' if tie.tied else 'Not tied'}: Cramér's V {tie.strength:.2f}."
    found = (
        f" {int(tie.breaking.sum())} of {len(tie.rows)} trajectories break the tie; on all others a network may read the condition."
        if tie.tied
        else " The condition does not tell the target."
    )
    return tie_panel(
        "Target and condition",
        {
            "": [
                [MatrixCell(text=f"{count}", shade=count / most, good=True) for count in row]
                for row in counts
            ]
        },
        targets=classes if len(classes) == len(tie.targets) else tie.targets,
        conditions=tie.conditions,
        caption=tied + found,
    )
