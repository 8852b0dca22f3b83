from typing import Any

import pytest

from crest.lab.evidence.cwru import CWRU_EXPERIMENT, LEVEL_STUDY, SCALED_LEVEL_STUDY
from crest.lab.evidence.names import named
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, column, duel, shown


def level(line: float = 0.8, neighbours: float = 0.1) -> dict[str, Any]:
    readers = {
        "line": {"id": [0.2, 0.2], "ood": [line, line]},
        "15 nearest": {"id": [0.1, 0.1], "ood": [neighbours - 0.01, neighbours + 0.01]},
    }
    return {LEVEL_STUDY.name: {"default": readers, "bearing": readers}}


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(0.267, "holds"), (0.27, "partly"), (0.33, "partly"), (0.34, "does not hold"), (0.41, "does not hold")],
)
def test_the_held_load_must_fall_by_a_third(error: float, verdict: str) -> None:
    """The held bearing plays no part."""

    def rule(spec: RunSpec) -> Numbers:
        return duel(crest=Numbers(ood=9.0 if spec.regime == "bearing" else error))(spec)

    first = claims(CWRU_EXPERIMENT, rule, studies=level())[0]
    assert (first.verdict, first.seeds, first.smallest_p) == (verdict, 5, 1 / 32)


@pytest.mark.parametrize(
    ("line", "neighbours", "verdict"),
    [(0.8, 0.31, "holds"), (0.8, 0.29, "does not hold"), (0.29, 0.8, "does not hold")],
)
def test_the_best_reader_of_the_level_alone_decides_about_the_cue(
    line: float, neighbours: float, verdict: str
) -> None:
    claim = claims(CWRU_EXPERIMENT, studies=level(line, neighbours))[-1]
    assert (claim.verdict, claim.seeds) == (verdict, 2)


def test_the_level_is_shown_beside_the_readouts_of_each_split() -> None:
    table = shown(CWRU_EXPERIMENT, duel(), studies=level()).tables[0]
    assert column(table, "readout").count("level alone, line") == 2
    assert column(table, "readout").count(f"{named('scored_attention')} *") == 6
    # The held bearing was not run with the mean and the event window.
    assert column(table, "readout").count("mean") == 1


def test_standardised_windows_have_verdicts_of_their_own_with_each_encoder() -> None:
    """Only there does CREST help: the raw windows play no part."""

    def rule(spec: RunSpec) -> Numbers:
        scaled = spec.system_options.get("standardized", False)
        return duel(crest=Numbers(ood=0.2 if scaled and spec.encoder == "local" else 0.5))(spec)

    raw, pointwise, convolution, *_ = claims(CWRU_EXPERIMENT, rule)
    assert [claim.verdict for claim in (raw, pointwise, convolution)] == ["does not hold"] * 2 + ["holds"]
    assert (convolution.text, convolution.seeds) == (
        "CREST lowers the held-load error on CWRU, standardised windows, convolution",
        5,
    )


def test_the_level_of_standardised_windows_is_read_from_its_own_study() -> None:
    readers = {"line": {"id": [1.0], "ood": [1.0]}}
    studies = {SCALED_LEVEL_STUDY.name: {"default": readers, "bearing": readers}}
    table = shown(CWRU_EXPERIMENT, duel(), studies=studies).tables[0]
    rows = [row for row in table.rows if row[1] == "level alone, line"]
    assert [row[0] for row in rows] == [
        "held load, standardised windows",
        "held bearing, standardised windows",
    ]


def test_the_papers_own_attention_has_verdicts_of_its_own_there() -> None:
    own = claims(CWRU_EXPERIMENT, duel(crest=Numbers(ood=0.38)))[3]
    assert own.text == f"CREST lowers the held-load error on CWRU, attention being {named('attention')}"
    # −37 % against it, −5 % against the stronger form.
    assert own.verdict == "holds"
    assert claims(CWRU_EXPERIMENT, duel(crest=Numbers(ood=0.38)))[0].verdict == "does not hold"
