import torch

from crest._base.recorded import Recorded, recorded


class Trajectories:
    """What the room of recordings calls so."""

    __module__ = "crest.recordings.trajectories"

    y = torch.tensor([0.0, 1.0, 1.0, 0.0])
    classes, options, channels, names = ("a", "b"), None, ("force",), ["x", "y", "z", "u"]
    sample_rate = 5.0
    extra = {"recording": torch.tensor([0, 0, 1, 1])}  # noqa: RUF012

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, None, None]:
        return torch.zeros(4, 5, 1), torch.tensor([0.0, 1.0, 1.0, 0.0]), None, None


def test_it_is_seen_by_its_attributes() -> None:
    data = recorded(Trajectories())
    assert isinstance(data, Recorded)
    assert (data.y.dtype, data.sample_rate, data.groups) == (torch.int64, None, [0, 0, 1, 1])
    some, rows = data.spread(3)
    assert (rows.tolist(), some.names, some.groups) == ([0, 2, 3], ("x", "z", "u"), [0, 1, 1])
    # Each alone, which tells nothing.
    assert data.spread(2)[0].groups is None
    assert recorded((torch.zeros(2, 5, 1), torch.zeros(2))) is None


def test_a_class_of_the_users_with_that_name_is_its_own() -> None:
    assert recorded(type("Trajectories", (list,), {})([torch.zeros(2, 5, 1)])) is None
    assert recorded(type("Mine", (Trajectories,), {})()) is not None
