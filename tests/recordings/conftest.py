from pathlib import Path

import numpy as np
import pytest

from recordings_made import table


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Recordings of 20, 25 and 9 samples that count 0, 1, ..., from 1000 and from 2000."""
    for number, (name, length) in enumerate([("a.npy", 20), ("b.npy", 25), ("c.npy", 9)]):
        np.save(tmp_path / name, 1000 * number + np.arange(length))
    return table(
        tmp_path,
        "file,label,speed,cue,events",
        "a.npy,1,slow,7,3-6;10-12",
        "b.npy,2,fast,8,",
        "c.npy,3,slow,9,0-9",
    )
