"""Generators named by a seed and a purpose: the only place that seeds anything.

A purpose says what the numbers are for ("gear/train", "encoder"), never which method is under test, so that
all readouts of one seed share data, initial weights and batch order.
"""

import contextlib
import hashlib
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from crest._base.arguments import require


class _Setting(NamedTuple):
    """One way in which torch or NumPy computes, for the whole process."""

    read: Callable[[], Any]
    write: Callable[[Any], object]


def _set_device(device: torch.device) -> None:
    # Without a default device torch says the CPU; to name it would slow down every call.
    torch.set_default_device(None if device.type == "cpu" else device)


def _attribute(owner: Any, name: str) -> _Setting:
    return _Setting(lambda: getattr(owner, name), lambda value: setattr(owner, name, value))


def _of_devices(read: Callable[[str], Any], write: Callable[[str, Any], object]) -> tuple[_Setting, ...]:
    return tuple(_Setting(partial(read, kind), partial(write, kind)) for kind in ("cpu", "cuda"))


_SETTINGS = (
    _Setting(torch.is_grad_enabled, torch.set_grad_enabled),
    _Setting(torch.get_default_dtype, torch.set_default_dtype),
    _Setting(torch.get_default_device, _set_device),
    _Setting(torch.get_num_threads, torch.set_num_threads),
    _Setting(torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    _Setting(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    _Setting(torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    *_of_devices(torch.is_autocast_enabled, torch.set_autocast_enabled),
    *_of_devices(torch.get_autocast_dtype, torch.set_autocast_dtype),
    *(_attribute(torch.backends.cudnn, name) for name in ("enabled", "benchmark", "deterministic")),
    _attribute(torch.backends.mkldnn, "enabled"),
    _attribute(torch.utils.deterministic, "fill_uninitialized_memory"),
    _Setting(np.geterr, lambda ways: np.seterr(**ways)),
)
# Torch's global state is one for all threads.
_ONE_AT_A_TIME = threading.RLock()


def _entropy(seed: np.integer[Any] | int, purpose: str) -> np.random.SeedSequence:
    require("seed", seed, "be a whole number, 0 or more")
    if not purpose:
        raise ValueError("purpose must be a non-empty string that says what the numbers are for")
    digest = hashlib.sha256(purpose.encode()).digest()
    return np.random.SeedSequence([int(seed), *np.frombuffer(digest, dtype=np.uint32).tolist()])


def generator(seed: np.integer[Any] | int, purpose: str) -> np.random.Generator:
    """NumPy generator of the stream that (seed, purpose) names.

    Example:
        >>> draw = generator(0, "gear/train").random()
        >>> draw == generator(0, "gear/train").random(), draw == generator(0, "gear/id").random()
        (True, False)
    """
    return np.random.default_rng(_entropy(seed, purpose))


def torch_generator(seed: np.integer[Any] | int, purpose: str) -> torch.Generator:
    """The same naming for code that draws with torch, on the CPU."""
    state = int(_entropy(seed, purpose).generate_state(1, np.uint64)[0])
    return torch.Generator().manual_seed(state & (2**63 - 1))


def torch_settings() -> tuple[Any, ...]:
    """How torch computes in this process, for `set_torch_settings` in another one.

    Example:
        >>> set_torch_settings(torch_settings())
    """
    return tuple(setting.read() for setting in _SETTINGS)


def set_torch_settings(values: Iterable[Any]) -> None:
    """Compute as `torch_settings` told. What is so already is not written: to set the threads or a device costs something."""
    for setting, value in zip(_SETTINGS, values, strict=True):
        if setting.read() != value:
            setting.write(value)


@contextlib.contextmanager
def scope(seed: np.integer[Any] | int, purpose: str) -> Iterator[None]:
    """Seed torch's global state inside the block, for layers that initialise from it, and put it back.

    Example:
        >>> with scope(0, "encoder"):
        ...     first = torch.nn.Linear(2, 2).weight
        >>> with scope(0, "encoder"):
        ...     torch.equal(first, torch.nn.Linear(2, 2).weight)
        True
    """
    with _ONE_AT_A_TIME, _devices_kept() as used:
        number = torch_generator(seed, purpose).initial_seed()
        # `torch.manual_seed` also seeds devices, and those that are not in use yet when they come into use: outside of the block.
        (torch.manual_seed if used else torch.default_generator.manual_seed)(number)
        yield


@contextlib.contextmanager
def seeded(
    seed: np.integer[Any] | int, purpose: str, generators: Iterable[torch.Generator] = ()
) -> Iterator[None]:
    """Seed torch's, NumPy's and Python's global states inside the block, for code of others; all is afterwards as before.

    Args:
        seed: with the purpose, names the stream.
        purpose: what the numbers are for.
        generators: others that are put back too, as in `undisturbed`.

    Example:
        >>> def drawn():
        ...     with seeded(0, "repair/fit"):
        ...         return torch.rand(1).item(), np.random.rand(), random.random()
        >>> drawn() == drawn()
        True
    """
    with undisturbed(*generators), scope(seed, purpose):
        number = torch_generator(seed, purpose).initial_seed()
        np.random.seed(number % 2**32)
        random.seed(number)
        yield


@contextlib.contextmanager
def undisturbed(*generators: torch.Generator) -> Iterator[None]:
    """Whatever is drawn or set inside the block, the global states of torch, NumPy and Python are afterwards as before.

    That is the state of every global generator, and how torch computes: grad mode, default dtype and device, threads,
    deterministic algorithms, precision, autocast, the flags of cuDNN and oneDNN, and what NumPy does about errors.

    Args:
        *generators: others that are put back too, such as that of a loader.

    Example:
        >>> torch.manual_seed(0).initial_seed()
        0
        >>> with undisturbed():
        ...     inside = torch.rand(1)
        >>> torch.equal(inside, torch.rand(1))
        True
    """
    python, numpy = random.getstate(), np.random.get_state()
    given = [one.get_state() for one in generators]
    ways = torch_settings()
    with _devices_kept():
        try:
            yield
        finally:
            set_torch_settings(ways)
            random.setstate(python)
            np.random.set_state(numpy)
            for one, state in zip(generators, given, strict=True):
                one.set_state(state)


@contextlib.contextmanager
def _devices_kept() -> Iterator[bool]:
    """Torch's global states are afterwards as before: that of the CPU, and those of the devices in use; gives whether there are any."""
    cuda = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    mps = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None
    with torch.random.fork_rng(devices=list(range(torch.cuda.device_count())) if cuda else []):
        try:
            yield cuda or mps is not None
        finally:
            if mps is not None:
                torch.mps.set_rng_state(mps)
