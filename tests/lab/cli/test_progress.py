import pytest

from crest.lab.cli.progress import Bar, Lines, line, progress, reason
from crest.lab.evaluation import Score
from crest.lab.runs.durations import TimeLeft, run_kinds
from crest.lab.runs.spec import RunSpec
from sweeping import made_up, tiny

SPEC = tiny()


def test_a_finished_run_has_both_errors_and_its_seconds() -> None:
    record = made_up(SPEC, score=Score(id=0.12345, ood=1.5), seconds={"data": 0.7, "training": 1.5})
    assert line(record) == f"{SPEC.id}  ID 0.123  OOD 1.500  2 s"
    # The exchange is a part of the measuring.
    parts = {"data": 0.5, "training": 1.5, "measuring": 3.0, "exchange": 2.0}
    assert line(made_up(SPEC, seconds=parts)).endswith("  5 s")


def test_a_run_on_recordings_of_which_none_is_held_out_has_one_error() -> None:
    spec = RunSpec(
        system="recordings",
        system_options={"table": "a.csv", "window": 8, "content": "0a"},
        readout="mean",
        seed=1000,
    )
    assert line(made_up(spec, score=Score(id=0.1, ood=0.1))) == f"{spec.id}  ID 0.100  1 s"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Traceback (most recent call last):\n  File x\nValueError: no\n", "ValueError: no"),
        ("Traceback:\n  File x\nValueError: no\n  caused by\nOSError: yes\n", "OSError: yes"),
        ("Traceback:\n  File x\nValueError: no a\nno b\nfetch them", "ValueError: no a ... fetch them"),
        ("killed", "killed"),
        ("", "no reason was noted"),
        ("Traceback:\n  File x\n", "  File x"),
    ],
    ids=["one line", "the last of two", "with a remedy", "no traceback", "nothing", "a stack alone"],
)
def test_the_reason_of_a_failure_is_one_line(text: str, said: str) -> None:
    assert reason(text) == said


def test_lines_count_what_is_settled(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines(4, TimeLeft([SPEC])) as lines:
        lines.found("a")
        lines.waiting("b")
        lines.died("c")
        lines.done(made_up(SPEC))
        lines.failed("c", "ValueError: no")
    assert capsys.readouterr().out.splitlines() == [
        "[1/4] b  another process is working on it",
        "[1/4] c  its process died, trying again",
        f"[2/4] {line(made_up(SPEC))}  about 1 s left",
        "[3/4] c  failed: ValueError: no  about 1 s left",
    ]


@pytest.mark.parametrize(
    ("kept", "before"),
    [
        ({}, "2 runs to do, time left unknown until the first run is done"),
        (
            {run_kinds(SPEC.to_dict())[1]: [300.0]},
            "2 runs to do, about 10 min left, estimated from kept records of similar runs",
        ),
    ],
)
def test_lines_tell_the_time_left_from_the_first_run_on(
    capsys: pytest.CaptureFixture[str], kept: dict[str, list[float]], before: str
) -> None:
    specs = [tiny(seed=seed) for seed in (1000, 1001, 1002)]
    with Lines(3, TimeLeft(specs, kept, clock=lambda: 0.0)) as lines:
        lines.found(specs[0].id)
        lines.started(specs[1].id)
        record = made_up(specs[1], seconds={"training": 250.0})
        lines.done(record)
        lines.started(specs[2].id)
        last = made_up(specs[2])
        lines.done(last)
    assert capsys.readouterr().out.splitlines() == [
        before,
        f"[2/3] {line(record)}  about 4 min left",
        f"[3/3] {line(last)}",
    ]


def test_a_bar_tells_the_time_left_from_the_first_run_on(capsys: pytest.CaptureFixture[str]) -> None:
    specs = [tiny(seed=seed) for seed in (1000, 1001)]
    with Bar(2, TimeLeft(specs, clock=lambda: 0.0)) as bar:

        def told() -> str:
            return str(bar.bar.columns[-1](bar.bar.tasks[0]))

        bar.started(specs[0].id)
        assert told() == "time left unknown until the first run is done"
        bar.done(made_up(specs[0], seconds={"training": 250.0}))
        assert told() == "about 4 min left"
        bar.done(made_up(specs[1]))
        assert told() == ""
    capsys.readouterr()


def test_a_bar_knows_what_is_going_on_and_counts_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar(4, TimeLeft([SPEC])) as bar:
        task = bar.bar.tasks[0]
        # What was found is not there to be done: it leaves the total.
        bar.found("a")
        assert (task.completed, task.total) == (0, 3)
        for name in (SPEC.id, "b", "c"):
            bar.started(name)
        bar.died("b")
        assert bar.running == [SPEC.id, "c"]
        bar.done(made_up(SPEC))
        bar.failed("c", "ValueError: no")
        assert (bar.running, task.completed) == ([], 2)
        bar.started("d")
    # Nothing is said to go on once the block has ended.
    assert bar.running == []
    shown = capsys.readouterr().out
    for part in (line(made_up(SPEC)), "b  its process died", "c  failed: ValueError: no"):
        assert part in shown


def test_a_file_gets_lines() -> None:
    assert isinstance(progress(3, TimeLeft([SPEC])), Lines)
