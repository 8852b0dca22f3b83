"""What `crest.cues` returns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from crest._base.doors import door
from crest._base.fragment import FindingMark, finding, table
from crest._pages.writing import write_page
from crest.exchange.ties import Tie

# our choice: docs/evidence/choices.md#cues
_SHOWN = 0.005
_OWN = 0.5
FOUND = 0.1
"""From this share on a cue counts."""
CUE_NUISANCES = ("offset", "drift", "tones", "gain", "colour")
"""Those from which a target is read."""

CALLED = {
    "core": "what is brief",
    "surroundings": "surroundings",
    "all": "all together",
    "condition": "the condition",
}
"""How rows are called, if not by their name."""


@dataclass(frozen=True, kw_only=True)
class Cue:
    """How well the target is read from one thing alone."""

    name: str
    """A nuisance, "surroundings", "core" for what is brief, "all", or "condition"."""
    score: float
    """R2 of left-out trajectories, negative if worse than the mean; for classes the balanced accuracy."""
    interval: tuple[float, float]
    """Of 95 %, by a bootstrap over trajectories or groups."""
    chance: float
    """The score of a reader that knows nothing."""
    beats_constant: bool = True
    """Whether the squared error of left-out trajectories is clearly below that of a constant, too. Without it a score of classes may be
    that of noise, whatever its interval."""
    around: float | None = None
    """The score without the transient core; only for gain and colour, to which the events themselves add."""
    by_condition: float | None = None
    """Share of the variance that the condition explains, of the number that it explains best; None without conditions."""

    @property
    def share(self) -> float:
        """From 0 (chance or worse) to 1: the score above chance as a share of what is possible."""
        return self._above(self.score)

    @property
    def least_share(self) -> float:
        """The same for the low end of the interval; 0 if the squared error does not beat a constant."""
        return self._above(self.interval[0]) if self.beats_constant else 0.0

    @property
    def found(self) -> bool:
        """Whether it is clearly there, and large enough that a network would use it."""
        return self.share >= FOUND and self.least_share > 0

    @property
    def of_events(self) -> bool:
        """Whether most of what gain or colour tells goes with the events."""
        return self.share_around is not None and self.share_around < _OWN * self.share

    @property
    def share_around(self) -> float | None:
        """The same for the score without the transient core."""
        return None if self.around is None else self._above(self.around)

    def _above(self, score: float) -> float:
        return min(1.0, max(0.0, (score - self.chance) / (1 - self.chance)))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cues:
    """How well the target is read from single things in the signals, before any network.

    `print(cues)` says it in words, `to_html` writes a page with pictures.
    """

    rows: tuple[Cue, ...]
    measure: Literal["R2", "balanced accuracy"]
    """What the scores are."""
    trajectories: int
    groups: int | None
    """How many groups were left out, one by one; None if trajectories were."""
    classes: tuple[str, ...]
    """The classes of the target; none if it is a number."""
    tie: Tie | None
    """Target x condition; None without conditions."""
    sentences: tuple[str, ...]
    """What it means."""
    notes: tuple[str, ...]
    """What was assumed."""

    def __getitem__(self, name: str) -> Cue:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"name must be one of {', '.join(row.name for row in self.rows)}, got {name!r}")

    def __repr__(self) -> str:
        left = f"each of {self.groups} groups" if self.groups else "each trajectory"
        chance = f", chance {self.rows[0].chance:.2f}" if self.classes else ""
        lines = [
            f"Cues in {self.trajectories} trajectories: {self.measure} of the target, {left} left out{chance}"
        ]
        around = any(row.around is not None for row in self.rows)
        head = f"  {'read from':<16}{self.measure:>18}{'95 % interval':>18}"
        head += f"{'without events':>16}" if around else ""
        lines.append(head + (f"{'by condition':>14}" if self.tie is not None else ""))
        for row in self.rows:
            line = f"  {CALLED.get(row.name, row.name):<16}{_told(row, row.score):>18}"
            line += f"{f'{row.interval[0]:.2f} to {row.interval[1]:.2f}':>18}"
            if around:
                line += f"{'' if row.around is None else _told(row, row.around):>16}"
            if self.tie is not None:
                line += f"{'' if row.by_condition is None else f'{row.by_condition:.2f}':>14}"
            lines.append(line.rstrip())
        lines += self.sentences
        return "\n".join([*lines, *(f"Assumed: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """What notebooks show: red if a nuisance tells the target and what is brief does not, amber if a nuisance does."""
        rows = [
            [
                CALLED.get(row.name, row.name),
                _told(row, row.score),
                f"{row.interval[0]:.2f} to {row.interval[1]:.2f}",
            ]
            for row in self.rows
        ]
        nuisances = bool(self.shortcuts)
        head = f"Cues in {self.trajectories} trajectories: " + (
            "a nuisance alone tells the target" if nuisances else "no nuisance alone tells the target"
        )
        return finding(
            head,
            self.mark,
            sentences=self.sentences,
            parts=[table(["read from", self.measure, "95 % interval"], rows)],
            notes=self.notes,
        )

    @property
    def shortcuts(self) -> tuple[str, ...]:
        """Names of the nuisances that tell the target, the strongest first; not of those that are the events' own."""
        some = [row for row in self.rows if row.name in CUE_NUISANCES and row.found and not row.of_events]
        return tuple(row.name for row in sorted(some, key=lambda row: -row.share))

    @property
    def mark(self) -> FindingMark:
        """Red if a nuisance tells the target and what is brief does not, amber if a nuisance does, else green."""
        brief = any(row.found for row in self.rows if row.name == "core")
        return "good" if not self.shortcuts else "doubt" if brief else "bad"

    @door
    def to_html(self, path: str | Path, *, title: str = "Cues", intro: str = "") -> Path:
        """Write the page: what tells the target, as bars, target x condition, and the numbers; return where it is.

        One file that needs no server and no network. Needs the lab extra.

        Args:
            path: of the file, which ends in .html; a warning tells if one is replaced.
            title: the heading.
            intro: a text below the pictures; an empty line begins a paragraph.
        """

        def maker() -> Callable[[], str]:
            from crest._cues.page import cues_page  # noqa: PLC0415

            return partial(cues_page, self, title=title, intro=intro)

        return write_page(path, maker)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "trajectories": self.trajectories,
            "groups": self.groups,
            "measure": self.measure,
            "classes": list(self.classes),
            "rows": [
                {
                    "name": row.name,
                    "score": row.score,
                    "interval": list(row.interval),
                    "chance": row.chance,
                    "share": row.share,
                    "beats_constant": row.beats_constant,
                    "around": row.around,
                    "by_condition": row.by_condition,
                }
                for row in self.rows
            ],
            "tie": None if self.tie is None else told_tie(self.tie),
            "sentences": list(self.sentences),
            "notes": list(self.notes),
        }


def told_tie(tie: Tie) -> dict[str, Any]:
    """A tie as plain values, ready for JSON."""
    return {
        "targets": list(tie.targets),
        "conditions": list(tie.conditions),
        "counts": tie.counts.tolist(),
        "strength": tie.strength,
        "tied": tie.tied,
        "breaking": int(tie.breaking.sum()),
    }


def _told(row: Cue, score: float) -> str:
    return f"{score:.2f}" if score - row.chance >= _SHOWN else "none"
