import pytest
import torch

from crest._cues.result import CUE_NUISANCES, Cue
from crest._cues.sentences import tie_sentence, told
from crest.exchange.ties import tie_of


def rows(chance: float = 0.0, around: dict[str, float] | None = None, **scores: float) -> list[Cue]:
    names = (*CUE_NUISANCES, "surroundings", "core", "all")
    return [
        Cue(
            name=name,
            score=scores.get(name, chance),
            interval=(scores.get(name, chance) - 0.05, scores.get(name, chance) + 0.05),
            chance=chance,
            around=(around or {}).get(name),
            by_condition=0.9 if name == "gain" else 0.1,
        )
        for name in names
    ]


def test_a_cue_is_told_with_what_to_do() -> None:
    assert told(rows(offset=0.94, core=0.12), None, "80 trajectories") == (
        "The offset alone explains 94 % of the target. A network will find it. If the offset does not cause the target, "
        'declare it: invariant=("offset",).',
        "What is brief alone explains 12 % of the target.",
    )


def test_several_cues_are_told_together_and_by_the_condition() -> None:
    tie = tie_of(torch.tensor([0, 1] * 8), [600, 900] * 8)
    first, second, both, brief, tied, by = told(rows(tones=0.5, gain=0.8), tie, "16 trajectories")
    assert first == "The tones alone explain 50 % of the target."
    assert second == "The gain alone explains 80 % of the target."
    assert both.endswith('Declare those that do not cause the target: invariant=("tones", "gain").')
    assert brief == "What is brief alone explains hardly anything."
    assert tied == "Target and condition are tied: Cramér's V 1.00; 0 of 16 trajectories break the tie."
    assert by == "The condition explains 90 % of the gain."


def test_what_the_events_add_is_not_called_a_cue() -> None:
    colour, brief = told(rows(colour=0.8, core=0.9, around={"colour": 0.02}), None, "80 trajectories")
    assert colour == (
        "The colour alone explains 80 % of the target, but hardly anything without the events. "
        "It is mostly the colour of the events themselves."
    )
    assert "invariant" not in brief
    (kept, _) = told(rows(colour=0.8, core=0.9, around={"colour": 0.7}), None, "80 trajectories")
    assert 'invariant=("colour",)' in kept


def test_what_is_unclear_is_said_to_be() -> None:
    made = rows(core=0.9)
    made[1] = Cue(name="drift", score=0.3, interval=(-0.2, 0.6), chance=0.0)
    (unclear,) = [one for one in told(made, None, "12 groups") if "drift" in one]
    assert unclear == (
        "The drift alone may explain 30 % of the target, but 12 groups are too few to tell: the interval reaches chance."
    )
    made[1] = Cue(name="drift", score=0.8, interval=(0.7, 0.9), chance=0.5, beats_constant=False)
    (unclear,) = [one for one in told(made, None, "12 groups") if "drift" in one]
    assert unclear.startswith(
        "The drift alone may tell 80 % of the classes right (chance 50 %), but 12 groups"
    )
    assert unclear.endswith("too few to tell: the squared error is not clearly below that of a constant.")


def test_the_surroundings_are_told_if_they_tell_more_than_their_parts() -> None:
    words = told(rows(offset=0.3, surroundings=0.9, core=0.5), None, "80 trajectories")
    assert (
        'The surroundings of the events explain 90 % of the target: invariant=("surroundings",) covers them.'
        in words
    )
    assert not any("surroundings" in one for one in told(rows(offset=0.9, surroundings=0.95), None, "80"))


def test_nothing_is_said_to_be_nothing() -> None:
    first, *_, last = told(rows(), None, "80 trajectories")
    assert first == "No nuisance alone explains the target."
    assert last.startswith("All together explain too little to tell from chance.")
    assert "check labels" not in " ".join(told(rows(core=0.9, all=0.9), None, "80 trajectories"))


def test_classes_are_told_with_chance() -> None:
    words = told(rows(chance=0.5, offset=0.9, core=0.75), None, "80 trajectories")
    assert words[0].startswith(
        "The offset alone tells 90 % of the classes right (chance 50 %). A network will find it."
    )
    assert words[1] == "What is brief alone tells 75 % of the classes right (chance 50 %)."


@pytest.mark.parametrize(
    ("other", "said"), [(0, "12 of 120 windows break the tie"), (54, "are not tied: Cramér's V 0.00.")]
)
def test_a_tie_is_one_sentence(other: int, said: str) -> None:
    conditions = (
        (["slow"] * 54 + ["fast"] * 6 + ["fast"] * 54 + ["slow"] * 6) if not other else ["slow", "fast"] * 60
    )
    assert said in tie_sentence(tie_of(torch.tensor([0] * 60 + [1] * 60), conditions), "windows", "Label")
