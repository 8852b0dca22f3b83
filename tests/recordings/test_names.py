import numpy as np

from crest.recordings.names import window_names

EXTRA = {"file": np.array(["a.npy", "b.npy"]), "start": np.array([0, 30])}


def test_a_window_is_called_by_what_is_known_of_it() -> None:
    assert window_names(EXTRA, 20.0, whole=False) == ["a.npy, 0 s", "b.npy, 1.5 s"]
    assert window_names(EXTRA, None, whole=False) == ["a.npy, sample 0", "b.npy, sample 30"]
    with_speed = EXTRA | {"condition": np.array(["900", ""])}
    assert window_names(with_speed, None, whole=True) == ["a.npy, 900", "b.npy"]


def test_late_windows_that_are_near_each_other_have_different_names() -> None:
    late = {
        "file": np.array(["a.npy"] * 3),
        "start": np.array([100_000 * 20, 100_000 * 20 + 1, 100_000 * 20 + 10]),
    }
    assert window_names(late, 20.0, whole=False) == [
        "a.npy, 100000 s",
        "a.npy, 100000.05 s",
        "a.npy, 100000.5 s",
    ]
    for rate in (0.3, 3.0, 44_100.0):
        starts = {"file": np.array(["a.npy"] * 500), "start": np.arange(10**9, 10**9 + 500)}
        assert len(set(window_names(starts, rate, whole=False))) == 500
