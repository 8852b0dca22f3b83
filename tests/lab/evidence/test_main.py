import pytest

from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.names import named
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, column, duel, shown, verdicts

DOT, SCORED = named("attention"), named("scored_attention")


def test_the_headline_holds_on_ten_seeds_with_the_smallest_p() -> None:
    first, same_id, dot, scored = claims(MAIN_EXPERIMENT, duel())[:4]
    assert first.measured == f"−50.0 % against {SCORED}, lower on 10 of 10 seeds"
    assert (first.verdict, first.seeds, first.p, first.smallest_p) == ("holds", 10, 2.0**-10, 2.0**-10)
    assert (same_id.verdict, same_id.measured) == ("holds", "1.00 times")
    assert same_id.bar == "at most 1.4 times"
    for form, credit in ((DOT, dot), (SCORED, scored)):
        assert f"of {form} on SG-Drive" in credit.text
        assert credit.verdict == "holds"
        assert credit.measured == "CiE@1 3.00 times, ECM 3.00 times, both higher on 10 of 10 seeds"


def test_the_comparison_follows_the_form_that_is_stronger() -> None:
    rule = duel(dot=Numbers(id=0.08, ood=0.25), scored=Numbers(id=0.1, ood=0.4))
    there = shown(MAIN_EXPERIMENT, rule)
    assert there.claims[0].measured == f"−20.0 % against {DOT}, lower on 10 of 10 seeds"
    assert there.claims[0].verdict == "partly"
    marked = [name for name in column(there.tables[0], "readout") if name.endswith("*")]
    assert marked == [f"{DOT} *"] * 2
    assert column(there.tables[0], "ΔOOD")[:6] == ["", "", "−20 %", "", "", "−20 %"]


@pytest.mark.parametrize(
    ("ratio", "gear", "impact"),
    [
        (0.99, "holds", "holds"),
        (1.1, "holds", "partly"),
        (1.39, "holds", "partly"),
        (1.41, *["does not hold"] * 2),
    ],
)
def test_the_id_error_has_a_bar_for_each_system(ratio: float, gear: str, impact: str) -> None:
    found_verdicts = verdicts(MAIN_EXPERIMENT, duel(crest=Numbers(id=0.1 * ratio)))
    assert (found_verdicts[1], found_verdicts[5]) == (gear, impact)


@pytest.mark.parametrize(
    ("cie", "ecm", "verdict"),
    [
        (0.5, 0.5, "holds"),
        (0.9, 0.49, "partly"),
        (0.38, 0.9, "partly"),
        (0.37, 0.9, "does not hold"),
        (0.9, 0.25, "does not hold"),
    ],
)
def test_credit_must_double_by_both_measures(cie: float, ecm: float, verdict: str) -> None:
    rule = duel(crest=Numbers(cie=cie, ecm=ecm), dot=Numbers(id=0.12, cie=0.01, ecm=0.01))
    found_verdicts = verdicts(MAIN_EXPERIMENT, rule)
    assert [found_verdicts[place] for place in (2, 3, 6, 7)] == ["holds", verdict] * 2


def test_credit_that_is_not_higher_on_every_seed_is_not_doubled() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return duel(crest=Numbers(cie=0.2 if spec.seed == 4 else 1.0, ecm=1.0))(spec)

    there = claims(MAIN_EXPERIMENT, rule)
    assert [there[place].verdict for place in (2, 3, 6, 7)] == ["does not hold"] * 4
    assert "both higher on 9 of 10 seeds" in there[2].measured


@pytest.mark.parametrize(
    ("ood", "gear", "impact"),
    [
        (0.19, "holds", "holds"),
        (0.28, "holds", "partly"),
        (0.29, "partly", "partly"),
        (0.41, *["does not hold"] * 2),
    ],
)
def test_the_error_must_fall_as_far_as_in_the_paper(ood: float, gear: str, impact: str) -> None:
    found_verdicts = verdicts(MAIN_EXPERIMENT, duel(crest=Numbers(ood=ood)))
    assert (found_verdicts[0], found_verdicts[4]) == (gear, impact)


def test_a_system_whose_runs_are_there_is_measured_while_the_other_is_not() -> None:
    there = claims(MAIN_EXPERIMENT, duel(), without=lambda spec: spec.system == "impact" and spec.seed == 7)
    assert [claim.verdict for claim in there[:8]] == ["holds"] * 4 + ["not measured"] * 4
    own = {claim.text: claim.verdict for claim in there[8:]}
    assert {verdict for text, verdict in own.items() if "SG-Drive" in text} == {"holds"}
    assert {verdict for text, verdict in own.items() if "Impact" in text} == {"not measured"}


def test_the_table_counts_the_seeds_that_are_there() -> None:
    table = shown(
        MAIN_EXPERIMENT, duel(), without=lambda spec: spec.readout == "crest" and spec.seed < 3
    ).tables[0]
    assert column(table, "seeds")[:6] == ["10/10", "10/10", "7/10"] * 2
    # No change is told of means over different seeds.
    assert column(table, "ΔOOD")[:6] == [""] * 6


def test_the_papers_own_attention_is_judged_by_the_same_bars() -> None:
    rule = duel(dot=Numbers(id=0.05, ood=1.2), scored=Numbers(id=0.04, ood=0.3))
    own = {claim.text: claim for claim in claims(MAIN_EXPERIMENT, rule)[8:]}
    lower = own[
        f"CREST lowers the OOD error without labels, on every seed, on SG-Drive, attention being {DOT}"
    ]
    assert (lower.measured, lower.bar) == (
        f"−83.3 % against {DOT}, lower on 10 of 10 seeds",
        claims(MAIN_EXPERIMENT)[0].bar,
    )
    near = own[f"CREST's ID error stays near attention's on SG-Drive, attention being {DOT}"]
    assert (near.measured, near.verdict) == ("2.00 times", "does not hold")
    text = "Attention does worse than a guess out of distribution on Impact"
    assert own[text].verdict == "does not hold"
    assert own[f"{text}, attention being {DOT}"].verdict == "holds"
