"""A module that is afterwards as before, whatever its `forward` writes: weights, buffers, parts, hooks, plain attributes.

A copy of the module would be simpler, and would not do: hooks and functions that hold the module itself would still write to it, and
many modules cannot be copied. So what a forward pass can write is kept beside, and put back in place, by identity and by value. It
costs a copy of every tensor and array inside for as long as the block lasts. Of other Python objects, generators of random numbers,
optimizers and their schedulers, dataclasses and namespaces are put back too. What is in objects of other classes, in quantised tensors,
in globals or in files is not.
"""

import collections
import contextlib
import copy
import dataclasses
import random
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

_HELD: set[int] = set()
"""Modules that are kept already: a block inside of another has nothing to do."""


def require_weights(module: nn.Module, argument: str = "model") -> None:
    """Raise a ValueError if a module has weights without values: lazy ones, or ones on the meta device.

    Example:
        >>> require_weights(nn.LazyLinear(1))
        Traceback (most recent call last):
        ValueError: model must have its weights, got lazy ones: ask it about a batch first
    """
    tensors = [*module.parameters(), *module.buffers()]
    if any(map(is_lazy, tensors)):
        raise ValueError(f"{argument} must have its weights, got lazy ones: ask it about a batch first")
    if any(one.is_meta for one in tensors):
        raise ValueError(
            f"{argument} must have its weights, got some on the meta device, which hold no numbers: load them first, by "
            "load_state_dict(..., assign=True)"
        )


@contextlib.contextmanager
def untouched(module: nn.Module, argument: str = "model") -> Iterator[None]:
    """Whatever the module writes to itself inside the block, it is afterwards as before, also after an error.

    Args:
        module: with its weights.
        argument: what messages call it.

    Example:
        >>> norm = nn.BatchNorm1d(2)
        >>> with untouched(norm):
        ...     _ = norm(torch.ones(4, 2))
        >>> norm.running_mean, norm.num_batches_tracked
        (tensor([0., 0.]), tensor(0))
    """
    require_weights(module, argument)
    if id(module) in _HELD:
        yield
        return
    kept = _Kept()
    kept.keep(module)
    _HELD.add(id(module))
    try:
        yield
    finally:
        _HELD.discard(id(module))
        kept.put_back()


# The first that fits: the methods of these classes themselves are used, since a class derived from one may refuse or count its changes.
_CONTAINERS = (collections.OrderedDict, dict, list, set, collections.deque)
_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")
_GENERATORS = (
    torch.Generator,
    np.random.Generator,
    np.random.BitGenerator,
    np.random.RandomState,
    random.Random,
)
_OBJECTS = (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, types.SimpleNamespace)
"""Objects whose attributes are put back, beside dataclasses. Those of any other class may be locks and files."""


class _Kept:
    """Containers with what was in them, and tensors with their values. Both are held here, so that an id stays that of one object."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.containers: list[tuple[Any, Any, Any]] = []
        self.tensors: list[_KeptTensor | _KeptSparse] = []
        self.hooks: list[tuple[Tensor, str]] = []
        self.arrays: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
        self.generators: list[Callable[[], object]] = []
        self.slots: list[tuple[Any, str, Any]] = []

    def keep(self, value: Any) -> None:
        """Remember this, and what is inside of it."""
        # A loop, since lists in lists may be deep.
        waiting = [value]
        while waiting:
            one = waiting.pop()
            if id(one) in self.seen or not _can_change(one):
                continue
            self.seen.add(id(one))
            if isinstance(one, Tensor):
                waiting += self._keep_tensor(one)
            elif isinstance(one, np.ndarray):
                waiting += self._keep_array(one)
            elif isinstance(one, torch.jit.ScriptModule):
                # What a scripted module has is not in its Python namespace.
                waiting += [*one.parameters(), *one.buffers()]
            elif isinstance(one, _GENERATORS):
                self.generators.append(_set_back(one))
            elif isinstance(one, nn.Module):
                waiting.append(vars(one))
            else:
                waiting += self._keep_object(one)

    def _keep_object(self, one: Any) -> list[Any]:
        """Keep a container, an object with fields, or what is both; and give what is inside."""
        found: list[Any] = []
        if _has_fields(one):
            found += [vars(one)] if hasattr(one, "__dict__") else []
            slots = [name for name in _slots(one) if hasattr(one, name)]
            self.slots += [(one, name, getattr(one, name)) for name in slots]
            found += [getattr(one, name) for name in slots]
        if isinstance(one, tuple):
            found += one
        elif isinstance(one, _CONTAINERS):
            kind = next(kind for kind in _CONTAINERS if isinstance(one, kind))
            before = kind(one)
            self.containers.append((one, kind, before))
            found += before.values() if isinstance(before, dict) else before
        return found

    def _keep_tensor(self, one: Tensor) -> list[Any]:
        """Keep its values, and give what else it has: gradient, attributes and hooks."""
        if one.is_nested or one.is_quantized or one.is_meta:
            return []
        if one.layout == torch.strided:
            self.tensors.append(_KeptTensor(one))
        else:
            self.tensors.append(_KeptSparse(one))
        found: list[Any] = [vars(one)]
        if one.is_leaf:
            found += [one.grad] if one.grad is not None else []
            self.hooks += [(one, name) for name in _HOOKS if getattr(one, name, None) is None]
            found += [getattr(one, name, None) for name in _HOOKS]
        return found

    def _keep_array(self, one: npt.NDArray[Any]) -> list[Any]:
        """Keep what can be written, and give the objects inside."""
        if one.flags.writeable:
            self.arrays.append((one, one.copy()))
        return list(one.flat) if one.dtype == object else []

    def put_back(self) -> None:
        """Everything as it was. What did not change is not written, so that a graph that waits for its backward pass stays valid."""
        for container, kind, before in self.containers:
            if not _same_objects(kind(container), before):
                kind.clear(container)
                (kind.update if issubclass(kind, dict | set) else kind.extend)(container, before)
        for kept in self.tensors:
            kept.put_back()
        for tensor, name in self.hooks:
            made = getattr(tensor, name, None)
            if made is not None:
                # Autograd may hold the dictionary.
                made.clear()
                setattr(tensor, name, None)
        for array, values in self.arrays:
            alike = array.shape == values.shape and array.dtype == values.dtype
            # By its bytes: NaN is not equal to itself, and objects may compare in ways of their own.
            if alike and array.flags.writeable and array.tobytes() != values.tobytes():
                array[...] = values
        for set_back in self.generators:
            set_back()
        for owner, name, value in self.slots:
            # A frozen dataclass refuses its own `setattr`.
            if getattr(owner, name, None) is not value:
                object.__setattr__(owner, name, value)


def _can_change(one: Any) -> bool:
    # The operating system's numbers have no state.
    kinds = (nn.Module, Tensor, np.ndarray, tuple, *_CONTAINERS, *_GENERATORS)
    return (isinstance(one, kinds) or _has_fields(one)) and not isinstance(one, random.SystemRandom)


def _has_fields(one: Any) -> bool:
    return isinstance(one, _OBJECTS) or (dataclasses.is_dataclass(one) and not isinstance(one, type))


def _slots(one: Any) -> list[str]:
    """Fields of a dataclass that are not in its `__dict__`."""
    fields = dataclasses.fields(one) if dataclasses.is_dataclass(one) else ()
    return [field.name for field in fields if field.name not in getattr(one, "__dict__", ())]


def _set_back(generator: Any) -> Callable[[], object]:
    """What sets a generator of random numbers back to where it is now."""
    if isinstance(generator, torch.Generator):
        state = generator.get_state()
        return lambda: generator.set_state(state)
    if isinstance(generator, random.Random):
        numbers = generator.getstate()
        return lambda: generator.setstate(numbers)
    if isinstance(generator, np.random.RandomState):
        legacy = generator.get_state(legacy=False)
        return lambda: generator.set_state(legacy)
    bits = generator if isinstance(generator, np.random.BitGenerator) else generator.bit_generator
    # A copy: the state of some holds an array that they write to.
    kept = copy.deepcopy(bits.state)
    return lambda: setattr(bits, "state", kept)


class _KeptTensor:
    """A tensor, the memory that it had, and what was in there."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.memory = tensor.data
        self.values = tensor.detach().clone()
        self.requires_grad = tensor.requires_grad
        self.grad = tensor.grad if tensor.is_leaf else None

    def put_back(self) -> None:
        """The same memory with the same values, gradient, and wish for one."""
        now, before = self.tensor, self.memory
        moved = now.data_ptr() != before.data_ptr() or now.stride() != before.stride()
        if moved or now.shape != before.shape or now.dtype != before.dtype:
            now.data = before
        if not _same_values(before, self.values):
            before.copy_(self.values)
        if now.is_leaf:
            if now.requires_grad != self.requires_grad:
                now.requires_grad_(self.requires_grad)
            if now.grad is not self.grad:
                now.grad = self.grad


class _KeptSparse:
    """A sparse tensor, the indices and numbers that it had, and what was in there."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.memory = tensor.data
        self.values = tensor.detach().clone()

    def put_back(self) -> None:
        """The same indices and the same numbers, in the same memory if its size allows."""
        before = _parts(self.values)
        for now, value in zip(_parts(self.memory), before, strict=True):
            if not _same_values(now, value):
                now.copy_(value)
        if not all(map(_is_same, _parts(self.tensor), before)) or self.tensor.shape != self.values.shape:
            self.tensor.data = self.memory


def _parts(sparse: Tensor) -> list[Tensor]:
    """Views of what a sparse tensor consists of."""
    one = sparse.detach()
    if one.layout == torch.sparse_coo:
        return [one._indices(), one._values()]
    if one.layout in {torch.sparse_csr, torch.sparse_bsr}:
        return [one.crow_indices(), one.col_indices(), one.values()]
    return [one.ccol_indices(), one.row_indices(), one.values()]


def _same_objects(one: Any, other: Any) -> bool:
    if len(one) != len(other):
        return False
    if isinstance(one, set):
        return bool(one == other)
    if isinstance(one, dict) and not all(a is b for a, b in zip(one.values(), other.values(), strict=True)):
        return False
    # By identity: tensors do not compare to one truth value.
    return all(a is b for a, b in zip(one, other, strict=True))


def _is_same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and _same_values(one, other)


def _same_values(one: Tensor, other: Tensor) -> bool:
    # NaN is not equal to itself.
    return torch.equal(one, other) or bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124
