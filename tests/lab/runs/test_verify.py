import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crest.lab.evaluation import Budget, Score
from crest.lab.evidence.study_file import study_of
from crest.lab.runs import verify as verifying
from crest.lab.runs.executors import LocalExecutor
from crest.lab.runs.record import ReanchoredScore, Record, Shares
from crest.lab.runs.runner import run
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.runs.verify import cheapest, differences, drawn, readable, surroundings, verify, with_data
from crest.lab.systems import make_system
from crest.lab.systems.public import DATA_SETS
from crest.probes import CreditMeans, DeletionCurve
from places import DOCS
from studies_made import made_study
from sweeping import Heard, failing, made_up, tiny

SPEC = tiny()
KEPT = made_up(SPEC, score=Score(id=0.1, ood=1.0))


def scored(id: float, ood: float) -> Record:  # noqa: A002
    return dataclasses.replace(KEPT, score=Score(id=id, ood=ood))


def credited(**changes: float) -> Record:
    return dataclasses.replace(
        KEPT, credit={**KEPT.credit, "ood": dataclasses.replace(KEPT.credit["ood"], **changes)}
    )


# -- the tolerance, by hand


def test_the_tolerance_is_what_the_docs_say() -> None:
    text = " ".join((DOCS / "evidence" / "choices.md").read_text().split())
    said = (
        "differ by less than 5 % or 0.01, whichever is more, and credit, budget and shares by less than 0.05"
    )
    assert said in text
    assert (verifying.RELATIVE_ERROR, verifying.ABSOLUTE_ERROR, verifying.CREDIT) == (0.05, 0.01, 0.05)


def test_a_record_agrees_with_itself() -> None:
    assert differences(KEPT, KEPT) == []


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        # 5 % of 0.1 is 0.005: 0.01 is more.
        (scored(0.109, 1.0), []),
        (scored(0.091, 1.0), []),
        (scored(0.111, 1.0), ["ID error was 0.1000 and is 0.1110: not within 0.0100"]),
        (scored(0.089, 1.0), ["ID error was 0.1000 and is 0.0890: not within 0.0100"]),
        # 5 % of 1 is 0.05.
        (scored(0.1, 1.049), []),
        (scored(0.1, 1.051), ["OOD error was 1.0000 and is 1.0510: not within 0.0500"]),
        (scored(0.1, 0.949), ["OOD error was 1.0000 and is 0.9490: not within 0.0500"]),
        (credited(cie=0.54), []),
        (credited(cie=0.56), ["OOD CiE@1 was 0.5000 and is 0.5600: not within 0.0500"]),
        (credited(ecm=0.19), ["OOD ECM was 0.2500 and is 0.1900: not within 0.0500"]),
        (credited(precision=0.81), ["OOD Prec@|E| was 0.7500 and is 0.8100: not within 0.0500"]),
        (credited(chance=0.2), ["OOD chance level was 0.1250 and is 0.2000: not within 0.0500"]),
    ],
)
def test_differences_by_hand(new: Record, expected: list[str]) -> None:
    assert differences(KEPT, new) == expected


def test_every_difference_is_named() -> None:
    new = dataclasses.replace(credited(cie=0.9, ecm=0.9), score=Score(id=0.5, ood=0.5))
    assert [text.partition(" was")[0] for text in differences(KEPT, new)] == [
        "ID error", "OOD error", "OOD CiE@1", "OOD ECM",
    ]  # fmt: skip


def test_shares_and_the_re_anchored_model_are_compared_too() -> None:
    shares = Shares(transient=0.5, background=0.4, interaction=0.1, background_alone=0.8)
    again = ReanchoredScore(score=Score(id=0.2, ood=0.4), exchange=shares, budget="pooled", leave_one_out=0.2)
    kept = dataclasses.replace(KEPT, exchange=shares, reanchored=again)
    assert differences(kept, kept) == []
    moved = dataclasses.replace(shares, transient=0.56)
    assert differences(kept, dataclasses.replace(kept, exchange=moved)) == [
        "exchange: transient was 0.5000 and is 0.5600: not within 0.0500"
    ]
    other = dataclasses.replace(again, score=Score(id=0.2, ood=0.45), exchange=moved)
    assert differences(kept, dataclasses.replace(kept, reanchored=other)) == [
        "re-anchored OOD error was 0.4000 and is 0.4500: not within 0.0200",
        "re-anchored exchange: transient was 0.5000 and is 0.5600: not within 0.0500",
    ]
    assert differences(kept, dataclasses.replace(kept, exchange=None)) == [
        "exchange is in the kept record alone"
    ]


def test_credit_that_only_one_of_them_has_is_a_difference() -> None:
    without = dataclasses.replace(KEPT, credit={"id": KEPT.credit["id"]})
    assert differences(KEPT, without) == ["OOD credit is in the kept record alone"]
    assert differences(without, KEPT) == ["OOD credit is in the new record alone"]
    nothing = dataclasses.replace(KEPT, credit={})
    assert differences(nothing, nothing) == []


def test_macro_f1_is_compared_where_labels_are_classes() -> None:
    kept, near, far = (
        dataclasses.replace(KEPT, macro_f1={"id": 0.9, "ood": ood}) for ood in (0.6, 0.64, 0.5)
    )
    assert differences(kept, near) == differences(KEPT, KEPT) == []
    assert differences(kept, far) == ["OOD macro-F1 was 0.6000 and is 0.5000: not within 0.0500"]


def test_another_run_is_not_compared() -> None:
    with pytest.raises(
        ValueError, match=f"new must be a record of the run {KEPT.id}, got gear-pointwise-max"
    ):
        differences(KEPT, made_up(tiny("max")))


def test_what_is_other_than_then_is_named() -> None:
    kept = dataclasses.replace(KEPT, versions={"torch": "2.0", "python": "3.11"})
    new = dataclasses.replace(KEPT, versions={"torch": "2.1", "python": "3.11", "source": "abc"})
    assert surroundings(kept, new) == ["torch was 2.0 and is 2.1", "source was not noted and is abc"]
    assert surroundings(kept, kept) == []


# -- which records


def records(n: int) -> list[Record]:
    return [made_up(tiny(seed=1000 + i), seconds={"data": 1.0, "training": float(n - i)}) for i in range(n)]


def test_a_seed_makes_the_draw_repeatable() -> None:
    there = records(12)
    first = [one.id for one in drawn(there, 4, seed=7)]
    assert len(set(first)) == 4
    assert [one.id for one in drawn(there, 4, seed=7)] == first
    assert any([one.id for one in drawn(there, 4, seed=seed)] != first for seed in range(3))


def test_every_record_can_be_drawn() -> None:
    there = records(5)
    assert {drawn(there, 1, seed=seed)[0].id for seed in range(60)} == {one.id for one in there}


def test_the_cheapest_are_those_of_the_shortest_measured_time() -> None:
    there = records(5)
    assert cheapest(there, 2) == [there[4], there[3]]


@pytest.mark.parametrize("choose", [lambda there, n: drawn(there, n, seed=0), cheapest])
def test_a_sample_is_one_or_more_and_at_most_all(choose: Callable[..., list[Record]]) -> None:
    there = records(3)
    assert {one.id for one in choose(there, 10)} == {one.id for one in there}
    with pytest.raises(ValueError, match="sample must be a whole number, 1 or more, got 0"):
        choose(there, 0)


def store_of(folder: Path, *kept: Record) -> Store:
    store = Store(folder)
    for one in kept:
        store.write(one)
    return store


def stale(folder: Path, name: str) -> None:
    """Put a record on the disk whose spec stood for other defaults when it was run."""
    folder.joinpath(f"{name}.json").write_text(dataclasses.replace(KEPT, id=name).to_json())


def test_records_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    there = records(3)
    assert readable(store_of(tmp_path, *reversed(there))) == sorted(there, key=lambda one: one.id)


def test_stale_records_are_named_with_what_to_do(tmp_path: Path) -> None:
    store = store_of(tmp_path, KEPT)
    stale(tmp_path, "gear-old")
    with pytest.raises(
        ValueError, match=r"got 1 of 2 in .* of other defaults: gear-old\. Move .*`crest run`"
    ):
        readable(store)
    for i in range(6):
        stale(tmp_path, f"gear-old-{i}")
    with pytest.raises(ValueError, match=r"got 7 of 8 .*gear-old, gear-old-0, .*gear-old-3 and 2 more\."):
        readable(store)


def test_an_empty_folder_has_nothing_to_verify(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="folder must have the records of runs, got none in"):
        readable(Store(tmp_path))


def test_runs_whose_recordings_are_not_here_are_left_out(tmp_path: Path) -> None:
    def bearings(**fields: Any) -> Record:
        folder = {"system_options": {"folder": str(tmp_path)}}
        return made_up(RunSpec(system="cwru", readout="mean", **{"seed": 1000, **folder, **fields}))

    without = [bearings(), bearings(seed=1001), bearings(regime="bearing")]
    here, absent = with_data([KEPT, *without])
    assert here == [KEPT]
    assert list(absent) == [one.id for one in without]
    for reason in absent.values():
        assert "has none of the 16 recordings, 105.mat to 3004.mat" in reason
        assert "crest data fetch cwru" in reason


@pytest.mark.parametrize("system", sorted(DATA_SETS))
def test_runs_of_every_public_data_set_are_left_out_without_its_files(tmp_path: Path, system: str) -> None:
    objective = "cross_entropy" if getattr(make_system(system), "classes", ()) else "mse"
    spec = RunSpec(
        system=system,
        readout="mean",
        seed=1000,
        objective=objective,
        system_options={"folder": str(tmp_path)},
    )
    here, absent = with_data([KEPT, made_up(spec)])
    assert here == [KEPT]
    assert DATA_SETS[system].remedy in absent[spec.id]


def test_code_of_ones_own_is_not_run_and_changed_recordings_are_left_out(tmp_path: Path) -> None:
    study = study_of(made_study(tmp_path))
    own = next(spec for spec in study.runs if spec.encoder == "own")
    plain = next(spec for spec in study.runs if spec.encoder == "pointwise")
    here, absent = with_data([made_up(own), made_up(plain)])
    assert [record.id for record in here] == [plain.id]
    assert "user code, which verify does not run" in absent[own.id]
    (tmp_path / "0.npy").write_bytes(b"other")
    assert "not what the run was named by" in with_data([made_up(plain)])[1][plain.id]
    (tmp_path / "table.csv").unlink()
    assert "table.csv" in with_data([made_up(plain)])[1][plain.id]


# -- doing it again


def test_a_run_done_again_agrees_to_the_last_bit() -> None:
    kept, heard = run(tiny("crest")), Heard()
    with LocalExecutor(1) as executor:
        (check,) = verify([kept], executor, listener=heard)
    assert check.agrees
    assert check.kept is kept
    assert check.new is not None
    assert (check.new.score, check.new.credit) == (kept.score, kept.credit)
    assert heard.events == [("started", kept.id), ("done", kept.id)]


def test_a_wrong_number_and_a_failing_run_are_found_in_the_order_given() -> None:
    true = run(SPEC)
    wrong = dataclasses.replace(true, score=Score(id=true.score.id, ood=true.score.ood + 1))
    broken = made_up(failing(seed=1001))
    with LocalExecutor(1) as executor:
        first, second = verify([broken, wrong], executor)
    assert (first.kept, first.new, first.agrees) == (broken, None, False)
    assert first.differences[0].startswith("its run fails here: ")
    assert len(first.differences[0]) > len("its run fails here: ")
    assert (second.kept, second.agrees) == (wrong, False)
    assert [text.partition(" was")[0] for text in second.differences] == ["OOD error"]


def test_nothing_is_left_of_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with LocalExecutor(1) as executor:
        verify([KEPT], executor)
    assert list(tmp_path.iterdir()) == []


def test_budget_saliency_and_deletion_are_compared_too() -> None:
    means = CreditMeans(cie=0.5, ecm=0.25, precision=0.75, chance=0.125, counted=8, without_events=0)
    budget = Budget(epsilon=0.1, alpha=0.5, width=0.1, tail=0.1, selected=0.1)
    kept = dataclasses.replace(
        made_up(tiny("crest")),
        budget={"id": budget},
        saliency=means,
        deletion={"random": DeletionCurve((0.0, 0.1), (0.1, 0.5))},
    )
    assert differences(kept, kept) == []
    changed = {
        "ID budget": {"budget": {"id": dataclasses.replace(budget, epsilon=0.2)}},
        "saliency: ECM": {"saliency": dataclasses.replace(means, ecm=0.35)},
        "without steps by random": {"deletion": {"random": DeletionCurve((0.0, 0.1), (0.1, 0.6))}},
    }
    for words, fields in changed.items():
        (text,) = differences(kept, dataclasses.replace(kept, **fields))
        assert words in text
