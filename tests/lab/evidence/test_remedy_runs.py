"""Which runs the remedies need, and in which order."""

from itertools import pairwise

import pytest

from crest.lab.evidence.experiment import Found
from crest.lab.evidence.remedy_runs import (
    BEARING_PLACES,
    HARD_PLACES,
    PLAIN,
    REANCHORED,
    TEN_PLACES,
    mean_of,
    outcomes,
    seed_by_seed,
)
from evidence_made import Numbers, record


def test_ten_places_with_five_seeds_where_a_run_is_cheap() -> None:
    assert len(TEN_PLACES) == 10
    assert {place.encoder for place in TEN_PLACES if len(place.seeds) == 5} == {"pointwise", "cnn"}
    assert all(len(place.runs()) == 7 * len(place.seeds) for place in TEN_PLACES)


def test_the_first_seeds_come_first() -> None:
    seeds = [spec.seed for spec in seed_by_seed((*TEN_PLACES, *HARD_PLACES, *BEARING_PLACES))]
    assert all(before <= after for before, after in pairwise(seeds))
    assert seeds.count(0) == 7 * 15


def test_re_anchoring_is_measured_on_the_plain_model() -> None:
    place = TEN_PLACES[0]
    measuring = [spec for spec in place.runs() if "reanchor" in spec.measures]
    assert {(spec.readout, spec.remedy) for spec in measuring} == {("scored_attention", "none")}
    records = {
        spec.id: record(spec, lambda _: Numbers(id=0.1, again=(0.2, 0.3, 0.8))) for spec in place.runs()
    }
    found = outcomes(Found(place.runs(), records, {}), place)
    assert found[PLAIN][0].id == 0.1
    assert (found[REANCHORED][0].id, found[REANCHORED][0].shares.transient) == (0.2, 0.8)
    assert mean_of(found[REANCHORED]).ood == pytest.approx(0.3)


def test_places_are_called_by_system_setting_and_encoder() -> None:
    assert TEN_PLACES[0].name == "SG-Drive, pointwise"
    assert BEARING_PLACES[0].name == "CWRU (standardised windows), pointwise"
