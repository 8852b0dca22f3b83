import dataclasses
import json
import platform
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

import crest
from crest.lab.encoders import ENCODERS
from crest.lab.evaluation import measured_budget, measured_credit, model_error, predict, score
from crest.lab.evidence.study_file import study_of
from crest.lab.runs import runner
from crest.lab.runs.checkpoint import load_checkpoint
from crest.lab.runs.datasets import splits_of
from crest.lab.runs.record import Record
from crest.lab.runs.runner import commit, peak_memory, run, versions
from crest.lab.runs.spec import MEASURES as EVERY_MEASURE
from crest.lab.training import Schedule
from crest.readouts import READOUTS, REFERENCES
from crest.recordings import Splits, Trajectories
from studies_made import made_study
from toy import TINY, tiny_spec

# A repair needs operating conditions, which a simulator has none of: tests/lab/runs/test_repairs.py.
MEASURES = tuple(name for name in EVERY_MEASURE if name != "repair")
NUMBERS = (
    "score", "credit", "budget", "losses", "looks", "deletion", "saliency", "traces",
    "exchange", "reanchored",
)  # fmt: skip


def numbers(record: Record) -> dict[str, Any]:
    fields = record.to_dict()
    return {name: fields[name] for name in NUMBERS}


@pytest.mark.parametrize("readout", [*READOUTS, *REFERENCES])
def test_every_readout_leaves_a_whole_record(readout: str) -> None:
    spec = tiny_spec(readout=readout)
    record = run(spec)
    assert record.spec == spec
    assert record.id == spec.id
    assert set(record.credit) == {"id", "ood"}
    assert set(record.budget) == ({"id", "ood"} if readout == "crest" else set())
    assert len(record.losses) == 2
    assert record.looks == []
    assert (record.deletion, record.saliency, record.traces) == ({}, None, None)
    assert Record.from_dict(json.loads(record.to_json())) == record


@pytest.mark.parametrize("readout", [*READOUTS, *REFERENCES])
def test_every_readout_can_be_measured_in_every_way(readout: str) -> None:
    spec = tiny_spec(readout=readout, measures=("traces", "saliency", "deletion"))
    record = run(spec)
    assert {"credit", "random", "events"} <= set(record.deletion)
    untouched = {curve.errors[0] for curve in record.deletion.values()}
    assert len(untouched) == 1
    assert untouched.pop() == pytest.approx(record.score.id, rel=1e-5)
    assert record.saliency is not None
    assert record.saliency.chance == pytest.approx(record.credit["id"].chance)
    assert record.traces is not None
    assert [(row.split, row.index) for row in record.traces.rows] == [
        (split, index) for split in ("id", "ood") for index in range(4)
    ]
    assert Record.from_dict(json.loads(record.to_json())) == record


@pytest.mark.parametrize("readout", [*READOUTS, *REFERENCES])
def test_an_encoder_with_a_stride_can_be_measured_in_every_way(readout: str) -> None:
    """Its features have 32 steps where the signals have 128: everything that is written down has those of the signals."""
    blind = [name for name in MEASURES if name not in ("attribution", "exchange", "reanchor")]
    measures = tuple(blind if readout in REFERENCES else MEASURES)
    record = run(tiny_spec(encoder="cnn", readout=readout, observe_every=1, measures=measures))
    assert (
        (record.exchange is None)
        == (record.reanchored is None)
        == (not record.attributions)
        == (readout in REFERENCES)
    )
    assert {"credit", "random", "events"} <= set(record.deletion)
    untouched = {curve.errors[0] for curve in record.deletion.values()}
    assert len(untouched) == 1
    assert untouched.pop() == pytest.approx(record.score.id, rel=1e-5)
    assert record.saliency is not None
    # A step of the features is an event where any of its four steps is.
    assert record.saliency.chance < record.credit["id"].chance < 4 * record.saliency.chance
    assert record.traces is not None
    for row in record.traces.rows:
        assert len(row.signals[0]) == len(row.credit) == len(row.transience or []) == 128
        assert sum(row.credit) == pytest.approx(1, abs=1e-2)
        assert (row.votes is not None) == (readout == "crest")
    assert Record.from_dict(json.loads(record.to_json())) == record


def test_what_is_measured_beside_changes_no_other_number() -> None:
    quiet = numbers(run(tiny_spec()))
    measured = numbers(run(tiny_spec(measures=MEASURES)))
    for name in ("deletion", "exchange", "reanchored", "saliency", "traces"):
        assert quiet.pop(name) != measured.pop(name)
    assert quiet == measured


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_same_spec_gives_the_same_bits(encoder: str) -> None:
    spec = tiny_spec(encoder=encoder, observe_every=1)
    first = run(spec)
    torch.manual_seed(77)
    np.random.seed(3)
    assert numbers(run(spec)) == numbers(first)
    assert numbers(run(dataclasses.replace(spec, seed=1001))) != numbers(first)


@pytest.mark.slow
def test_another_process_gives_the_same_bits(tmp_path: Path) -> None:
    """Also without shape checks, with another hash seed, and in the first run, which makes numba start its threads."""
    spec = tiny_spec(encoder="local", observe_every=1)
    code = (
        "import json, sys, torch; torch.set_num_threads(2)\n"
        "from crest.lab.runs.runner import run\n"
        "from crest.lab.runs.spec import RunSpec\n"
        "spec = RunSpec.from_dict(json.loads(sys.argv[1]))\n"
        "print(json.dumps([run(spec).to_dict(), run(spec).to_dict(), torch.get_num_threads()]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, json.dumps(spec.to_dict())],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONHASHSEED": "5", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "PYTHONPATH": ":".join(sys.path)},
    )
    assert result.returncode == 0, result.stderr
    first, second, threads = json.loads(result.stdout)
    assert first["id"] == spec.id
    assert numbers(Record.from_dict(first)) == numbers(Record.from_dict(second)) == numbers(run(spec))
    assert threads == 2


def test_the_threads_of_the_process_do_not_matter_and_are_put_back() -> None:
    before = torch.get_num_threads()
    spec = tiny_spec(encoder="attention")
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(numbers(run(spec)))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("part", ["splits_of", "fit", "score", "measured_credit", "measured_budget"])
def test_a_run_has_one_thread_and_a_failed_one_puts_them_back(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    before, inside = torch.get_num_threads(), []

    def failing(*arguments: object, **options: object) -> None:
        inside.append(torch.get_num_threads())
        raise KeyError("no data")

    def disturbing(*arguments: Any) -> Splits:
        torch.set_num_threads(3)  # as numba's first parallel loop does
        return splits_of(*arguments)

    monkeypatch.setattr(runner, "splits_of", disturbing)
    monkeypatch.setattr(runner, part, failing)
    try:
        torch.set_num_threads(2)
        with pytest.raises(KeyError):
            run(tiny_spec())
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert inside == [1]
    assert runner._ALONE.acquire(blocking=False)
    runner._ALONE.release()


def test_runs_of_one_process_go_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tiny_spec()
    expected, inside, most = numbers(run(spec)), [], []

    def watched(*arguments: Any) -> Splits:
        inside.append(1)
        most.append(len(inside))
        splits = splits_of(*arguments)
        inside.pop()
        return splits

    monkeypatch.setattr(runner, "splits_of", watched)
    found: list[dict[str, Any]] = []
    workers = [threading.Thread(target=lambda: found.append(numbers(run(spec)))) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 3
    assert most == [1, 1, 1]


def test_a_run_leaves_torchs_state_alone() -> None:
    state = torch.get_rng_state()
    run(tiny_spec(observe_every=1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()


def test_looking_changes_nothing() -> None:
    quiet, watched = (numbers(run(tiny_spec(observe_every=every))) for every in (0, 1))
    assert watched.pop("looks") != quiet.pop("looks")
    assert watched == quiet


def test_the_numbers_are_those_of_the_trained_model(tmp_path: Path) -> None:
    spec = tiny_spec()
    path = tmp_path / "model.safetensors"
    record = run(spec, checkpoint=path)
    model, again = load_checkpoint(path)
    assert again == spec
    splits = splits_of(spec)
    assert record.score == score(model, splits)
    assert (record.score.id, record.score.ood) == (
        model_error(model, splits.id),
        model_error(model, splits.ood),
    )
    for name in ("id", "ood"):
        credit = measured_credit(model, getattr(splits, name))
        assert credit is not None
        means = record.credit[name]
        assert (means.cie, means.ecm) == (credit.mean_cie, credit.mean_ecm)
        assert (means.precision, means.chance) == (credit.mean_precision, credit.mean_chance)
        assert record.budget[name] == measured_budget(model, getattr(splits, name))
    assert record.score.id != record.score.ood
    assert record.credit["id"] != record.credit["ood"]
    assert record.budget["id"] != record.budget["ood"]


def test_shared_data_give_the_same_record(tmp_path: Path) -> None:
    spec = tiny_spec()
    assert numbers(run(spec, data=tmp_path)) == numbers(run(spec))
    assert (tmp_path / spec.data_key / "train.npz").exists()


def test_looks_are_taken_where_the_spec_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tiny_spec(schedule=Schedule(epochs=5, batch=8), observe_every=2)
    record = run(spec)
    assert [look.epoch for look in record.looks] == [0, 2, 4, 5]
    last = record.looks[-1]
    assert last.score == record.score
    assert last.credit == record.credit["id"]
    assert record.looks[0].score != record.score


def spied(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    fit: Callable[..., Any] = runner.fit

    def watched(model: Any, train: Any, **options: Any) -> Any:
        start = {name: value.clone() for name, value in model.state_dict().items()}
        calls.append({"start": start, "train": train, **options})
        return fit(model, train, **options)

    monkeypatch.setattr(runner, "fit", watched)
    return calls


def test_fit_gets_training_data_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch)
    run(tiny_spec())
    splits = splits_of(tiny_spec())
    np.testing.assert_array_equal(calls[0]["train"].x, splits.train.x)
    handed = [value.x for value in calls[0].values() if isinstance(value, Trajectories)]
    assert len(handed) == 1
    assert calls[0]["observer"] is None


def test_the_spec_reaches_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch)
    spec = tiny_spec(
        objective="group_dro",
        objective_options={"step": 0.3, "groups": 3},
        schedule=Schedule(epochs=3, batch=4, learning_rate=1e-3),
        seed=1005,
    )
    record = run(spec)
    call = calls[0]
    assert (call["schedule"], call["seed"]) == (spec.schedule, 1005)
    assert (call["objective"].step, call["objective"].groups) == (0.3, 3)
    assert len(record.losses) == 3


def test_all_readouts_of_a_seed_start_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch)
    for readout in [*READOUTS, *REFERENCES]:
        run(tiny_spec(readout=readout, schedule=Schedule(epochs=1, batch=16)))
    first = calls[0]
    for call in calls[1:]:
        assert call["seed"] == first["seed"]
        np.testing.assert_array_equal(call["train"].x, first["train"].x)
        np.testing.assert_array_equal(call["train"].y, first["train"].y)
        for name in first["start"]:
            if name.startswith(("encoder.", "head.")):
                assert torch.equal(call["start"][name], first["start"][name]), name


def test_without_known_events_there_is_no_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    def unlabelled(*arguments: Any) -> Splits:
        splits = splits_of(*arguments)
        parts = {
            name: dataclasses.replace(getattr(splits, name), events=None) for name in ("train", "id", "ood")
        }
        return Splits(**parts)

    monkeypatch.setattr(runner, "splits_of", unlabelled)
    record = run(tiny_spec(observe_every=1))
    assert record.credit == {}
    assert all(look.credit is None for look in record.looks)
    assert json.loads(record.to_json())["credit"] == {}


def test_events_that_never_come_are_no_credit_either(monkeypatch: pytest.MonkeyPatch) -> None:
    def calm(*arguments: Any) -> Splits:
        splits = splits_of(*arguments)
        assert splits.ood.events is not None
        return dataclasses.replace(
            splits, ood=dataclasses.replace(splits.ood, events=np.zeros_like(splits.ood.events))
        )

    monkeypatch.setattr(runner, "splits_of", calm)
    record = run(tiny_spec())
    assert set(record.credit) == {"id"}
    assert record.to_json()


@pytest.mark.parametrize(
    ("objective", "readout"),
    [("group_dro", "mean"), ("event_auxiliary", "attention"), ("mse", "event_window")],
)
def test_the_controls_run(objective: str, readout: str) -> None:
    record = run(tiny_spec(objective=objective, readout=readout))
    assert record.score.ood > 0
    same = run(tiny_spec(readout=readout)).losses
    assert (record.losses == same) == (objective == "mse")


def test_what_it_took_is_recorded() -> None:
    record = run(tiny_spec())
    assert set(record.seconds) == {"data", "training", "measuring"}
    assert all(value > 0 for value in record.seconds.values())
    assert 10 < record.peak_memory < 1e6
    assert record.peak_memory <= peak_memory()
    assert record.versions == versions()
    assert record.commit == commit()


def test_versions_name_what_decides_the_numbers() -> None:
    found = versions()
    assert set(found) == {
        "crest",
        "python",
        "torch",
        "numpy",
        "numba",
        "scipy",
        "source",
        "processor",
        "instructions",
    }
    assert found["crest"] == crest.__version__
    assert found["python"] == platform.python_version()
    assert found["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert found["numpy"] == np.__version__


# -- the commit


class FakeGit:
    """Answers of git, by subcommand."""

    def __init__(self, **answers: tuple[int, str]) -> None:
        self.answers = answers

    def __call__(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        name = command[3].replace("-", "_")
        code, out = self.answers[name]
        if code and options.get("check"):
            raise subprocess.CalledProcessError(code, command)
        return subprocess.CompletedProcess(command, code, out, "")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"ls_files": (0, "x"), "rev_parse": (0, "abc\n"), "status": (0, "")}, "abc"),
        ({"ls_files": (0, "x"), "rev_parse": (0, "abc\n"), "status": (0, " M a.py\n")}, "abc+"),
        ({"ls_files": (1, "")}, None),
        ({"ls_files": (0, "x"), "rev_parse": (128, "")}, None),
    ],
)
def test_the_commit(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, tuple[int, str]], expected: str | None
) -> None:
    monkeypatch.setattr(subprocess, "run", FakeGit(**answers))
    assert commit.__wrapped__() == expected


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*arguments: Any, **options: Any) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", missing)
    assert commit.__wrapped__() is None


@pytest.mark.parametrize("readout", ["attention", "crest"])
def test_a_run_of_classes_is_measured_in_every_way(readout: str, tmp_path: Path) -> None:
    """Fault or no fault: the record has shares of wrong classes where others have root mean square errors."""
    spec = tiny_spec(
        system_options={**TINY, "threshold": 0.5},
        objective="cross_entropy",
        readout=readout,
        observe_every=1,
        measures=MEASURES,
    )
    record = run(spec, checkpoint=tmp_path / "model.safetensors")
    assert record.id.startswith(f"gear-pointwise-{readout}-cross_entropy-s1000-")
    model, _ = load_checkpoint(tmp_path / "model.safetensors")
    splits = splits_of(spec)
    for name in ("id", "ood"):
        part = getattr(splits, name)
        answers = predict(model, part).argmax(1).numpy()
        assert getattr(record.score, name) == pytest.approx(np.mean(answers != part.y))
        assert record.macro_f1[name] == pytest.approx(f1_score(part.y, answers, average="macro"))
    assert {curve.errors[0] for curve in record.deletion.values()} == {record.score.id}
    assert record.traces is not None
    assert {row.prediction for row in record.traces.rows} <= {0.0, 1.0}
    assert record.saliency is not None
    assert record.exchange is not None
    assert record.reanchored is not None
    assert set(record.attributions) == {"integrated_gradients", "wintsr"}
    assert Record.from_dict(json.loads(record.to_json())) == record


def test_a_run_on_ones_own_recordings_has_the_error_under_each_condition(tmp_path: Path) -> None:
    few = {"encoders": ["pointwise"], "readouts": ["mean"], "remedies": ["none", "reanchor"], "seeds": 1}
    (spec,) = study_of(made_study(tmp_path, models=few)).quick().runs
    record = run(spec)
    assert record.reanchored is not None
    for found in (record, record.reanchored):
        # Here each split has one condition, so its error is that of the split.
        assert {split: list(under) for split, under in found.conditions.items()} == {
            "id": ["slow"],
            "ood": ["fast"],
        }
        assert found.conditions["ood"]["fast"] == pytest.approx(found.score.ood, rel=1e-5)
        assert found.worst is not None
        assert found.worst >= found.score.ood
    assert run(tiny_spec()).conditions == {}
