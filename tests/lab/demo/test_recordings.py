from pathlib import Path

import numpy as np
import pytest
import torch

from crest.lab.demo.recordings import intervals, read_recordings, write_recordings
from crest.recordings import Splits, Trajectories
from crest.recordings.windows import event_steps

STEPS, CHANNELS = 20, ("a", "b")


def some(count: int, seed: int) -> Trajectories:
    random = np.random.default_rng(seed)
    return Trajectories(
        x=random.normal(size=(count, STEPS, 2)).astype(np.float32),
        y=random.normal(size=count),
        events=random.random((count, STEPS)) < 0.3,
        proxy=random.normal(size=count),
        sample_rate=10.0,
        channels=CHANNELS,
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    splits = Splits(train=some(4, 0), id=some(3, 1), ood=some(2, 2))
    table = write_recordings(tmp_path / "there", splits)
    assert table.read_text().splitlines()[0] == "file,stiffness,set,drive,events"
    data = read_recordings(table, steps=STEPS, sample_rate=10.0, channels=CHANNELS)
    for part, read in zip((splits.train, splits.id, splits.ood), data[:3], strict=True):
        assert torch.equal(read[0], torch.tensor(part.x).mT)
        assert read[1].numpy() == pytest.approx(part.y, rel=1e-5)
    assert data.events is not None
    assert np.array_equal(data.events.numpy(), splits.id.events)


@pytest.mark.parametrize("steps", [[], [0], [1, 2, 3], [0, 1, 19], list(range(STEPS))])
def test_intervals_are_what_the_door_reads(steps: list[int]) -> None:
    flags = np.isin(np.arange(STEPS), steps)
    assert np.array_equal(event_steps(intervals(flags), STEPS, Path()), flags)


def test_events_need_not_be_known(tmp_path: Path) -> None:
    part = some(2, 0)
    bare = Trajectories(x=part.x, y=part.y, sample_rate=10.0, channels=CHANNELS)
    table = write_recordings(tmp_path, Splits(train=bare, id=bare, ood=bare))
    assert table.read_text().splitlines()[1].endswith(",training,,")
