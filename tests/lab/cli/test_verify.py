import dataclasses
import json
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crest.lab import cli
from crest.lab.evaluation import Score
from crest.lab.runs.record import Record
from crest.lab.runs.runner import run
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from sweeping import made_up, tiny


@pytest.fixture(scope="module")
def kept() -> list[Record]:
    return [run(tiny(seed=seed)) for seed in (1000, 1001)]


@pytest.fixture
def store(tmp_path: Path, kept: list[Record]) -> Store:
    store = Store(tmp_path / "results")
    for one in kept:
        store.write(one)
    return store


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def crest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[object, str, str]:
    """What ended it, and what it printed on both streams."""
    monkeypatch.setattr(sys, "argv", ["crest", "verify", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code, *capsys.readouterr()


def test_runs_that_agree_are_a_table_and_status_0(
    store: Store, kept: list[Record], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in store.folder.iterdir() if path.is_file()}
    code, shown, _ = crest(
        monkeypatch, capsys, "--sample", "9", "--folder", str(store.folder), "--jobs", "1", "--seed", "3"
    )
    assert not code
    assert "2 of 2 runs are trained again: drawn with --seed 3" in shown
    assert re.search(r"^\[2/2\] gear-pointwise-mean", shown, re.MULTILINE)
    for one in kept:
        numbers = rf"{one.score.id:.3f} +{one.score.ood:.3f} +{one.credit['id'].cie:.2f}"
        assert re.search(rf"^{one.id} +{numbers} +{numbers} +yes *$", shown, re.MULTILINE)
    assert "All agree" in shown
    assert {path.name: path.read_bytes() for path in store.folder.iterdir() if path.is_file()} == before


def test_json_has_each_run_and_nothing_else_is_on_stdout(
    store: Store, kept: list[Record], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--sample", "1", "--folder", str(store.folder), "--jobs", "1", "--seed", "3", "--json")
    code, shown, said = crest(monkeypatch, capsys, *words)
    assert not code
    found = json.loads(shown)
    (one,) = found["runs"]
    assert (found["seed"], one["agrees"], one["differences"]) == (3, True, [])
    assert one["kept"]["ood_error"] in [record.score.ood for record in kept]
    assert one["new"]["ood_error"] == pytest.approx(one["kept"]["ood_error"], rel=0.05)
    assert "1 of 2 runs are trained again" in said


def test_a_run_that_does_not_agree_is_named_with_status_1(
    store: Store, kept: list[Record], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    score = Score(id=kept[0].score.id, ood=kept[0].score.ood + 1)
    store.write(
        dataclasses.replace(
            kept[0],
            score=score,
            seconds={"training": 0.0},
            versions={**kept[0].versions, "torch": "1.0"},
        )
    )
    code, shown, _ = crest(
        monkeypatch, capsys, "--sample", "1", "--cheapest", "--folder", str(store.folder), "--jobs", "1"
    )
    assert str(code).startswith("crest: 1 of 1 runs does not agree with the records in")
    assert "1 of 2 runs are trained again: those that took the least time" in shown
    assert re.search(rf"^{kept[0].id} .* NO *$", shown, re.MULTILINE)
    assert f"{kept[0].id}: OOD error was {score.ood:.4f} and is {kept[0].score.ood:.4f}" in shown
    assert f"{kept[0].id}: torch was 1.0 and is " in shown
    assert "All agree" not in shown


def test_runs_without_their_recordings_are_left_out_with_a_note(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CREST_DATA", str(store.folder / "none"))
    bearings = made_up(RunSpec(system="cwru", readout="mean", seed=1000), seconds={"training": 0.0})
    store.write(bearings)
    code, shown, said = crest(
        monkeypatch, capsys, "--sample", "1", "--cheapest", "--folder", str(store.folder), "--jobs", "1"
    )
    assert not code
    assert "1 of 2 runs are trained again" in shown
    assert bearings.id not in shown
    assert f"left out 1 runs such as {bearings.id}: " in said
    assert "crest data fetch cwru" in said


def test_a_draw_without_a_seed_says_how_to_have_it_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, shown, _ = crest(monkeypatch, capsys, "--sample", "1", "--folder", str(store.folder), "--jobs", "1")
    seed = re.search(r"drawn with --seed (\d+)", shown)
    assert seed
    again = crest(
        monkeypatch, capsys, "--sample", "1", "--folder", str(store.folder), "--jobs", "1", "--seed", seed[1]
    )[1]
    assert re.findall("gear-[^ ]+", again) == re.findall("gear-[^ ]+", shown)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--sample", "0"), "sample must be a whole number, 1 or more, got 0"),
        (("--sample", "1", "--jobs", "0"), "jobs must be a whole number, 1 or more, got 0"),
        (("--sample", "1", "--cheapest", "--seed", "3"), "seed is for a random sample"),
        (("--sample", "1", "--folder", "nowhere"), "nowhere does not exist"),
        (("--sample", "1", "--seed", "-1"), "seed must be a whole number, 0 or more, got -1"),
    ],
)
def test_an_error_is_one_sentence(
    words: tuple[str, ...],
    message: str,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(store.folder.parent)
    code, shown, said = crest(monkeypatch, capsys, *words)
    assert code == 1
    assert message in said
    assert "Traceback" not in shown + said


def test_a_stale_record_is_an_error_that_names_it(
    store: Store, kept: list[Record], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (store.folder / "gear-old.json").write_text(dataclasses.replace(kept[0], id="gear-old").to_json())
    code, _, said = crest(monkeypatch, capsys, "--sample", "1", "--folder", str(store.folder))
    assert code == 1
    assert "gear-old" in said
    assert "crest run" in said


def test_help_lists_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["crest", "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    assert re.search(r"^. verify ", capsys.readouterr().out, re.MULTILINE)
