"""Whatever a module writes to itself, it is afterwards as before."""

import collections
import copy
import random
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from crest._base.untouched import require_weights, untouched


class Stubborn(collections.OrderedDict[str, Tensor]):
    """A dictionary that refuses to be changed by name, as some libraries have."""

    def update(self, *_: Any, **__: Any) -> None:
        raise TypeError("no update")


@dataclass
class Settings:
    """A dataclass that a model may write to."""

    counts: list[int] = field(default_factory=list)
    rate: float = 0.1


@dataclass
class Output(collections.OrderedDict[str, Tensor]):
    """A dataclass that is a dictionary too, as some libraries have for what a model returns."""

    name: str = "none"


@dataclass(slots=True)
class Slotted:
    """A dataclass without a namespace."""

    counts: list[int]
    rate: float = 0.1


GENERATORS: dict[str, Callable[[Any], Any]] = {
    "torch's": lambda one: torch.rand(1, generator=one.of_torch),
    "NumPy's": lambda one: one.of_numpy.normal(),
    "NumPy's other bits": lambda one: one.of_twister.normal(),
    "NumPy's old": lambda one: one.of_state.normal(),
    "Python's": lambda one: one.of_python.random(),
    "bits": lambda one: one.of_bits.random_raw(),
}


class Everything(nn.Module):
    """One of each thing that a module can have."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)
        self.register_buffer("mean", torch.zeros(2))
        self.count, self.plain, self.array = 0, torch.zeros(2), np.zeros(2)
        self.seen: list[Any] = [torch.zeros(1)]
        self.by_name: dict[str, Any] = {"inner": [1]}
        self.loose = [nn.Linear(1, 1)]
        self.script = torch.jit.script(nn.BatchNorm1d(2))
        self.objects = np.array([[1], np.zeros(2), None], dtype=object)
        self.register_buffer("edges", torch.eye(2).to_sparse())
        self.register_buffer("rows", torch.eye(2).to_sparse_csr())
        self.fixed = np.arange(2.0)
        self.fixed.setflags(write=False)
        self.spread = np.broadcast_to(np.zeros(1), (4,))
        self.cached = Stubborn(a=torch.zeros(1))
        self.of_torch, self.of_numpy = torch.Generator().manual_seed(0), np.random.default_rng(0)
        self.of_twister = np.random.Generator(np.random.MT19937(0))
        self.of_state, self.of_python = np.random.RandomState(0), random.Random(0)
        self.settings, self.space = Settings(), types.SimpleNamespace(last=[0])
        self.optimizer = torch.optim.Adam(self.layer.parameters())
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 1)
        self.output, self.slotted = Output(), Slotted([0])
        self.output["first"] = torch.zeros(2)
        self.of_bits, self.of_system = np.random.PCG64(0), random.SystemRandom()


def _grown(one: Everything) -> None:
    one.made = nn.Linear(2, 2)
    one.register_buffer("late", torch.ones(1))
    one.layer.register_forward_hook(lambda *_: None)


def _replaced(one: Everything) -> None:
    one.layer = nn.Linear(3, 3)
    del one.norm
    one.mean = torch.ones(3)


def _converted(one: Everything) -> None:
    one.layer.weight.data = one.layer.weight.data.double()
    one.layer.weight.requires_grad_(False)
    one.layer.weight.grad = torch.ones(2, 2).double()


def _scripted(one: Everything) -> None:
    one.script.train()(torch.ones(4, 2))


def _hooked(one: Everything) -> None:
    one.layer.weight.register_post_accumulate_grad_hook(lambda weight: weight.grad.zero_())


def _stepped(one: Everything) -> None:
    one.optimizer.param_groups[0]["lr"] = 5.0
    one.optimizer.step()


WRITES: dict[str, Callable[[Everything], object]] = {
    "buffer": lambda one: one.mean.add_(1),
    "buffer anew": lambda one: setattr(one, "mean", one.mean + 1),
    "running statistics": lambda one: one.norm.train()(torch.ones(4, 2)),
    "weight": lambda one: one.layer.weight.data.add_(1),
    "gradient": lambda one: one.layer.bias.grad.add_(1),
    "converted": _converted,
    "counter": lambda one: setattr(one, "count", 5),
    "plain tensor": lambda one: one.plain.add_(1),
    "array": lambda one: one.array.__iadd__(1),
    "list": lambda one: one.seen.append(2),
    "tensor in a list": lambda one: one.seen[0].add_(1),
    "list in a dict": lambda one: one.by_name["inner"].append(2),
    "module in a list": lambda one: one.loose[0].weight.data.add_(1),
    "made": _grown,
    "replaced": _replaced,
    "mode": lambda one: one.layer.eval(),
    "scripted part": _scripted,
    "list in an array": lambda one: one.objects[0].append(2),
    "array in an array": lambda one: one.objects[1].__iadd__(1),
    "object in an array": lambda one: one.objects.__setitem__(2, "new"),
    "sparse buffer": lambda one: one.edges.mul_(2.0),
    "sparse buffer with more": lambda one: one.edges.add_(torch.ones(2, 2).to_sparse()),
    "sparse rows": lambda one: one.rows.mul_(2.0),
    "sparse numbers": lambda one: one.edges._values().add_(1),
    "hook of a tensor": lambda one: one.layer.weight.register_hook(lambda grad: 2 * grad),
    "hook behind a gradient": _hooked,
    "attribute of a tensor": lambda one: setattr(one.layer.weight, "tag", 1),
    "dictionary that refuses": lambda one: one.cached.__setitem__("b", torch.ones(1)),
    "NaN": lambda one: one.mean.fill_(torch.nan),
    "dataclass": lambda one: setattr(one.settings, "rate", 0.5),
    "list in a dataclass": lambda one: one.settings.counts.append(1),
    "list in a namespace": lambda one: one.space.last.append(1),
    "optimizer": _stepped,
    "schedule": lambda one: one.schedule.step(),
    "entry of a dataclass": lambda one: one.output.__setitem__("second", torch.ones(2)),
    "tensor in a dataclass": lambda one: one.output["first"].add_(1),
    "field of a dictionary": lambda one: setattr(one.output, "name", "new"),
    "slot": lambda one: setattr(one.slotted, "rate", 0.5),
    "list in a slot": lambda one: one.slotted.counts.append(1),
    **{f"{name} generator": draw for name, draw in GENERATORS.items()},
}


def shown(one: Everything) -> list[Any]:
    """All that can be compared, by value and by identity."""
    dense = [value for value in one.state_dict().values() if value.layout == torch.strided]
    tensors = [*dense, *one.loose[0].parameters(), one.plain, one.seen[0]]
    return [
        [(value.tolist(), value.dtype) for value in tensors],
        [id(part) for part in one.modules()],
        [(name, id(value), value.requires_grad) for name, value in one.named_parameters()],
        [None if value.grad is None else value.grad.tolist() for value in one.parameters()],
        [part.training for part in one.modules()],
        [len(part._forward_hooks) for part in one.modules() if not isinstance(part, torch.jit.ScriptModule)],
        one.count,
        one.array.tolist(),
        len(one.seen),
        one.by_name,
        str(one.objects),
        [value.to_dense().tolist() for value in (one.edges, one.rows)],
        [one.fixed.tolist(), one.spread.tolist(), list(one.cached)],
        [
            (len(value._backward_hooks or ()), len(value._post_accumulate_grad_hooks or ()))
            for value in one.parameters()
        ],
        [sorted(vars(value)) for value in one.parameters()],
        sorted(vars(one)),
        [one.settings, one.space, one.optimizer.state_dict(), one.schedule.state_dict(), one.slotted],
        [one.output.name, {name: value.tolist() for name, value in one.output.items()}],
        [one.of_torch.get_state().tolist(), one.of_numpy.bit_generator.state, one.of_python.getstate()],
        [str(one.of_bits.state), str(one.of_twister.bit_generator.state), str(one.of_state.get_state())],
    ]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_is_written_is_put_back(write: Callable[[Everything], object], fails: bool) -> None:
    one = Everything()
    one.layer(torch.ones(3, 2)).sum().backward()
    one.norm.running_var[0] = torch.nan
    before = copy.deepcopy(shown(one))
    try:
        # The inner block has nothing to do.
        with untouched(one), untouched(one):
            write(one)
            assert repr(shown(one)) != repr(before)
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert fails
    assert repr(shown(one)) == repr(before)


def test_a_graph_that_waits_for_its_backward_pass_stays_valid() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    loss = model(torch.ones(3, 2)).sum()
    with untouched(model), torch.no_grad():
        model(torch.ones(3, 2))
    loss.backward()
    assert model[0].weight.grad is not None


def test_hooks_of_tensors_that_are_put_back_do_nothing() -> None:
    one = Everything()
    with untouched(one):
        one.layer.weight.register_hook(lambda grad: 0 * grad)
        _hooked(one)
    one.layer(torch.ones(3, 2)).sum().backward()
    assert one.layer.weight.grad is not None
    assert one.layer.weight.grad.tolist() == [[3, 3], [3, 3]]


def test_hooks_that_were_there_stay() -> None:
    one = Everything()
    one.layer.weight.register_hook(lambda grad: 2 * grad)
    with untouched(one):
        one.layer.weight.register_hook(lambda grad: 0 * grad)
    one.layer(torch.ones(3, 2)).sum().backward()
    assert one.layer.weight.grad is not None
    assert one.layer.weight.grad.tolist() == [[6, 6], [6, 6]]


def test_an_array_that_became_read_only_or_another_is_left_alone() -> None:
    one = Everything()
    with untouched(one):
        one.array[0] = 5
        one.array.setflags(write=False)
    assert one.array.tolist() == [5, 0]


def test_weights_without_values_are_refused() -> None:
    for model, words in (
        (nn.LazyLinear(1), "lazy ones: ask it about a batch first"),
        (nn.LazyBatchNorm1d(), "lazy"),
        (nn.Linear(1, 1, device="meta"), "meta device"),
    ):
        with pytest.raises(ValueError, match=rf"^function must have its weights, got .*{words}"):
            require_weights(model, "function")
        with (
            pytest.raises(ValueError, match=rf"^model must have its weights, got .*{words}"),
            untouched(model),
        ):
            pass


def test_a_sparse_buffer_is_left_alone() -> None:
    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("edges", torch.eye(3).to_sparse())

        def forward(self, x: Tensor) -> Tensor:
            return torch.sparse.mm(self.edges, x)

    model = Graph()
    edges = model.edges
    with untouched(model):
        model(torch.ones(3, 1))
        model.edges = torch.eye(2).to_sparse()
    assert model.edges is edges
