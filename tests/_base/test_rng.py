import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from crest._base import rng

# Recorded once: a change here would silently make every published run another run.
PINNED = [154, 152, 599]
PINNED_TORCH = 3754566330783220648


def test_streams_differ_by_seed_and_by_purpose() -> None:
    draws = {
        (seed, purpose): rng.generator(seed, purpose).random(4).tolist()
        for seed in (0, 1)
        for purpose in ("a", "b")
    }
    assert len({tuple(draw) for draw in draws.values()}) == 4
    assert draws[0, "a"] == rng.generator(0, "a").random(4).tolist()


def test_streams_are_the_same_on_every_machine() -> None:
    assert rng.generator(7, "gear/train").integers(0, 1000, 3).tolist() == PINNED
    assert rng.torch_generator(7, "gear/train").initial_seed() == PINNED_TORCH


def test_scope_seeds_and_restores() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    with rng.scope(0, "encoder"):
        first = torch.rand(3)
    torch.testing.assert_close(torch.rand(1), expected, rtol=0, atol=0)
    with rng.scope(0, "encoder"):
        torch.testing.assert_close(torch.rand(3), first, rtol=0, atol=0)
    with rng.scope(1, "encoder"):
        assert not torch.equal(torch.rand(3), first)


def test_scope_restores_after_an_error() -> None:
    before = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError), rng.scope(0, "encoder"):
        torch.rand(1) / (1 // 0)
    np.testing.assert_array_equal(before, torch.get_rng_state())


@pytest.mark.parametrize("seed", [-1, True])
def test_seed_is_checked(seed: int) -> None:
    with pytest.raises(ValueError, match=rf"^seed must be a whole number, 0 or more, got {seed}$"):
        rng.generator(seed, "a")


def test_purpose_is_checked() -> None:
    with pytest.raises(ValueError, match="purpose must be a non-empty string"):
        rng.generator(0, "")


def test_threads_do_not_disturb_each_other() -> None:
    inside, intruded, drawn = threading.Event(), threading.Event(), threading.Event()

    def first() -> float:
        with rng.scope(1000, "encoder"):
            inside.set()
            intruded.wait(0.5)  # as long as the other would need to come in, if it could
            value = torch.rand(1).item()
            drawn.set()
            return value

    def second() -> float:
        inside.wait()
        with rng.scope(1001, "encoder"):
            intruded.set()
            drawn.wait()  # not out again before the other has drawn
            return torch.rand(1).item()

    with ThreadPoolExecutor(2) as pool:
        together = [future.result() for future in (pool.submit(first), pool.submit(second))]
    alone = []
    for seed in (1000, 1001):
        with rng.scope(seed, "encoder"):
            alone.append(torch.rand(1).item())
    assert together == alone


def test_undisturbed_puts_every_state_back_also_after_an_error() -> None:
    own = torch.Generator().manual_seed(3)

    def draws() -> list[float]:
        return [
            torch.rand(()).item(),
            np.random.random(),
            random.random(),
            torch.rand((), generator=own).item(),
        ]

    def states() -> list[object]:
        return [
            torch.get_rng_state().tolist(),
            np.random.get_state()[1].tolist(),
            random.getstate(),
            own.get_state().tolist(),
        ]

    before = states()
    with rng.undisturbed(own):
        first = draws()
        assert states() != before
    assert states() == before
    with pytest.raises(ZeroDivisionError), rng.undisturbed(own):
        draws()[0] / (1 // 0)
    assert states() == before
    assert draws() == first


def test_a_generator_that_is_not_named_moves_on() -> None:
    own = torch.Generator().manual_seed(3)
    before = own.get_state()
    with rng.undisturbed():
        torch.rand((), generator=own)
    assert not torch.equal(own.get_state(), before)


@pytest.mark.parametrize(
    "block", [lambda: rng.scope(0, "encoder"), rng.undisturbed], ids=["scope", "undisturbed"]
)
def test_devices_in_use_are_put_back(block: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"cuda": torch.tensor([1]), "mps": torch.tensor([2])}
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: states["cuda"])
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: states.update(cuda=state))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: states["mps"])
    monkeypatch.setattr(torch.mps, "set_rng_state", lambda state: states.update(mps=state))

    def seed(number: int) -> None:
        states.update(cuda=torch.tensor([number]), mps=torch.tensor([number]))

    monkeypatch.setattr(torch, "manual_seed", seed)
    before = dict(states)
    with block():
        if block is rng.undisturbed:
            seed(7)
        assert int(states["cuda"]) == int(states["mps"]) != int(before["cuda"])
    assert states == before


def test_devices_that_are_not_in_use_are_not_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    seeded: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    with rng.scope(0, "encoder"):
        first = torch.rand(2)
    torch.manual_seed(rng.torch_generator(0, "encoder").initial_seed())
    assert torch.equal(torch.rand(2), first)
    assert len(seeded) == torch.cuda.is_initialized() + 1


def test_seeded_starts_the_same_whatever_was_drawn_or_set_before() -> None:
    def drawn() -> tuple[float, ...]:
        with rng.seeded(1000, "repair/fit"):
            found = (torch.rand(1).item(), np.random.rand(), random.random())
            torch.set_default_dtype(torch.float64)
        return found

    first, outside = drawn(), torch.get_rng_state().tolist()
    torch.rand(3), np.random.rand(3), random.random()
    assert drawn() == first
    assert torch.get_default_dtype() == torch.float32
    torch.set_rng_state(torch.tensor(outside, dtype=torch.uint8))


def _ways() -> tuple[object, ...]:
    """How this process computes, asked from torch and NumPy themselves."""
    kinds = ("cpu", "cuda")
    return (
        torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads(), torch.get_deterministic_debug_mode(),
        torch.get_float32_matmul_precision(), torch.is_anomaly_enabled(), [torch.is_autocast_enabled(kind) for kind in kinds],
        [torch.get_autocast_dtype(kind) for kind in kinds], torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic, torch.backends.mkldnn.enabled,
        torch.utils.deterministic.fill_uninitialized_memory, np.geterr(),
    )  # fmt: skip


def test_how_torch_computes_is_put_back() -> None:
    before, ways = rng.torch_settings(), _ways()
    with rng.undisturbed():
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")
        torch.set_num_threads(torch.get_num_threads() + 1)
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.set_float32_matmul_precision("medium")
        torch.autograd.set_detect_anomaly(True)
        for kind in ("cpu", "cuda"):
            torch.set_autocast_enabled(kind, True)
            torch.set_autocast_dtype(kind, torch.float64)
        for owner, names in (
            (torch.backends.cudnn, ("enabled", "benchmark", "deterministic")),
            (torch.backends.mkldnn, ("enabled",)),
            (torch.utils.deterministic, ("fill_uninitialized_memory",)),
        ):
            for name in names:
                setattr(owner, name, not getattr(owner, name))
        np.seterr(all="ignore", over="raise")
        changed = rng.torch_settings()
        assert all(one != other for one, other in zip(before, changed, strict=True))
        assert all(one != other for one, other in zip(ways, _ways(), strict=True))
    assert rng.torch_settings() == before
    assert _ways() == ways
    assert torch.ones(1).device.type == "cpu"


def test_devices_that_are_not_in_use_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(device: object) -> torch.Tensor:
        raise AssertionError(f"the state of device {device} was asked for, which brings it into use")

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_rng_state", asked)
    with rng.undisturbed():
        torch.rand(1)
