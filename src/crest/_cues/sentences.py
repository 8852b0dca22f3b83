"""What cues in the data mean, in sentences."""

from collections.abc import Sequence

from crest._cues.result import CUE_NUISANCES, FOUND, Cue
from crest.exchange.ties import Tie

# our choice: docs/evidence/choices.md#cues
_SET = 0.5
# Below this R2 readers do not fail by noise. For classes no score is below 0.
_FAR = 0.5


def told(rows: Sequence[Cue], tie: Tie | None, of: str) -> tuple[str, ...]:
    """The sentences for the rows of a table of cues.

    Args:
        rows: of all nuisances, "surroundings", "core" and "all".
        tie: of target and condition, if there are conditions.
        of: what was left out, such as "12 groups".
    """
    by_name = {row.name: row for row in rows}
    found = [by_name[name] for name in CUE_NUISANCES if by_name[name].found]
    own = [row for row in found if row.of_events]
    cues = [row for row in found if row not in own]
    words = [*_about_nuisances(cues), *map(_about_own, own)]
    words += _about_surroundings(by_name, cues)
    words += [_about_unclear(row, of) for row in map(by_name.__getitem__, CUE_NUISANCES) if _is_unclear(row)]
    if not words:
        words = ["No nuisance alone explains the target."]
    words += _about_brief(by_name, found)
    if tie is not None:
        words += [tie_sentence(tie, "trajectories", "Target"), *_about_condition(cues)]
    return tuple(words)


def _is_unclear(row: Cue) -> bool:
    return row.share >= FOUND and row.least_share == 0


def _about_unclear(row: Cue, of: str) -> str:
    why = (
        "the interval reaches chance"
        if row.interval[0] <= row.chance
        else "the squared error is not clearly below that of a constant"
    )
    return f"The {row.name} alone {_percent(row, 'may ')}, but {of} are too few to tell: {why}."


def _percent(row: Cue, may: str = "") -> str:
    """What a row tells, with its verb."""
    many = "" if may or row.name in ("tones", "surroundings", "all") else "s"
    if row.chance:
        return f"{may}tell{many} {row.score:.0%} of the classes right (chance {row.chance:.0%})".replace(
            "%", " %"
        )
    return f"{may}explain{many} {row.share:.0%} of the target".replace("%", " %")


def _about_nuisances(cues: Sequence[Cue]) -> list[str]:
    if not cues:
        return []
    listed = ", ".join(f'"{row.name}"' for row in cues)
    if len(cues) == 1:
        (row,) = cues
        them, do = ("them", "do") if row.name == "tones" else ("it", "does")
        return [
            f"The {row.name} alone {_percent(row)}. A network will find {them}. "
            f"If the {row.name} {do} not cause the target, declare {them}: invariant=({listed},)."
        ]
    return [
        *(f"The {row.name} alone {_percent(row)}." for row in cues),
        f"A network will find these. Declare those that do not cause the target: invariant=({listed}).",
    ]


def _about_own(row: Cue) -> str:
    left = f"{row.around if row.chance else row.share_around:.0%}".replace("%", " %")
    rest = left if (row.share_around or 0.0) >= FOUND else "hardly anything"
    return (
        f"The {row.name} alone {_percent(row)}, but {rest} without the events. "
        f"It is mostly the {row.name} of the events themselves."
    )


def _about_surroundings(rows: dict[str, Cue], cues: Sequence[Cue]) -> list[str]:
    """Only if all around the core together tell more than its named parts."""
    around = rows["surroundings"]
    best = max((row.share for row in cues), default=0.0)
    if not around.found or around.share < best + FOUND:
        return []
    return [f'The surroundings of the events {_percent(around)}: invariant=("surroundings",) covers them.']


def _about_brief(rows: dict[str, Cue], found: Sequence[Cue]) -> list[str]:
    core, all_of = rows["core"], rows["all"]
    if not core.found:
        words = ["What is brief alone explains hardly anything."]
    else:
        words = [f"What is brief alone {_percent(core)}."]
    if not any(row.found for row in (core, all_of, *found)) and all_of.score < -_FAR:
        words.append(
            "Readers are far worse than a constant: what is left out is unlike the rest. This is no all-clear. More recordings may tell."
        )
    elif not any(row.found for row in (core, all_of, *found)):
        words.append(
            "All together explain too little to tell from chance. More recordings may tell; else check labels and units before you train "
            "a network."
        )
    return words


def _about_condition(cues: Sequence[Cue]) -> list[str]:
    set_by = [row for row in cues if (row.by_condition or 0.0) >= _SET]
    listed = ", ".join(f"{row.by_condition:.0%} of the {row.name}".replace("%", " %") for row in set_by)
    return [f"The condition explains {listed}."] if set_by else []


def tie_sentence(tie: Tie, what: str, target: str) -> str:
    """Whether target and condition are tied, and how many break the tie.

    Args:
        tie: of both.
        what: what is counted, such as "windows".
        target: how the target is called.
    """
    strength = f"Cramér's V {tie.strength:.2f}"
    if not tie.tied:
        return f"{target} and condition are not tied: {strength}."
    return (
        f"{target} and condition are tied: {strength}; "
        f"{int(tie.breaking.sum())} of {len(tie.rows)} {what} break the tie."
    )
