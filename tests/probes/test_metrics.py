"""CreditInEvent: a stream of batches, in one process or two, equals one big batch."""

import json
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from crest._base.extras import missing_extra
from crest.probes import credit

pytest.importorskip("torchmetrics")
from torchmetrics import MetricCollection

from crest.probes.metrics import CreditInEvent
from places import SOURCE


def data(n: int = 24, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    features, pooled = torch.randn(n, 10, 4, generator=generator), torch.randn(n, 4, generator=generator)
    events = torch.rand(n, 10, generator=generator) < 0.2
    mask = torch.rand(n, 10, generator=generator) < 0.8
    events[::7] = False
    return features, pooled, events, mask


def batches(parts: tuple[Tensor, ...], *sizes: int) -> list[tuple[Tensor, ...]]:
    return list(zip(*(part.split(sizes) for part in parts), strict=True))


def plain(values: dict[str, Tensor]) -> dict[str, float]:
    return {name: value.item() for name, value in values.items()}


def expected(parts: tuple[Tensor, ...]) -> dict[str, float]:
    result = credit(*parts)
    counts = {"n_trajectories": result.n_trajectories, "n_without_events": result.n_without_events}
    assert counts["n_without_events"] > 0
    return pytest.approx(result.mean | counts, rel=1e-12)


def test_batches_equal_one_big_batch() -> None:
    metric = CreditInEvent()
    for part in batches(data(), 1, 12, 3, 8):
        metric.update(*part)
    assert plain(metric.compute()) == expected(data())


def test_forward_gives_the_batch_and_keeps_the_whole() -> None:
    metric = CreditInEvent()
    first, second = batches(data(), 10, 14)
    assert plain(metric(*first)) == expected(first)
    assert plain(metric(*second)) == expected(second)
    assert plain(metric.compute()) == expected(data())


def test_without_a_mask() -> None:
    metric = CreditInEvent()
    metric.update(*data()[:3])
    assert plain(metric.compute()) == expected(data()[:3])


def test_reset_forgets() -> None:
    metric = CreditInEvent()
    metric.update(*data(seed=1))
    metric.reset()
    metric.update(*data())
    assert plain(metric.compute()) == expected(data())


def test_pickling_midway() -> None:
    metric = CreditInEvent()
    first, second = batches(data(), 10, 14)
    metric.update(*first)
    copy = pickle.loads(pickle.dumps(metric))
    copy.update(*second)
    assert plain(copy.compute()) == expected(data())
    assert plain(metric.compute()) == expected(first)


def test_a_clone_goes_its_own_way() -> None:
    metric = CreditInEvent()
    first, second = batches(data(), 10, 14)
    metric.update(*first)
    copy = metric.clone()
    copy.update(*second)
    assert plain(metric.compute()) == expected(first)
    assert plain(copy.compute()) == expected(data())


def test_merging_states() -> None:
    first, second = batches(data(), 10, 14)
    left, right = CreditInEvent(), CreditInEvent()
    left.update(*first)
    right.update(*second)
    left.merge_state(right)
    assert plain(left.compute()) == expected(data())


def test_state_dict_round_trip() -> None:
    metric, copy = CreditInEvent(), CreditInEvent()
    metric.persistent(True)
    metric.update(*data())
    copy.load_state_dict(metric.state_dict())
    copy.persistent(True)
    copy.update(*data(1, seed=3))
    assert copy.compute()["n_trajectories"] == 25


def state_bytes(metric: CreditInEvent) -> int:
    assert all(isinstance(state, Tensor) for state in metric.metric_state.values())
    return sum(state.numel() * state.element_size() for state in metric.metric_state.values())


def test_memory_is_constant() -> None:
    metric = CreditInEvent()
    empty = state_bytes(metric)
    metric.update(*data())
    pickled = len(pickle.dumps(metric))
    for seed in range(50):
        metric.update(*data(seed=seed))
        metric(*data(seed=seed))
    assert empty == state_bytes(metric) == 6 * 8
    metric._forward_cache = None
    assert len(pickle.dumps(metric)) <= pickled + 16
    assert metric.compute()["n_trajectories"] == 24 * 101


HALVES = {
    "half": lambda metric: metric.half(),
    "set_dtype": lambda metric: metric.set_dtype(torch.float16),
    "to": lambda metric: metric.to(torch.bfloat16),
    "parent": lambda metric: nn.ModuleList([metric]).to(torch.float16)[0],
}


@pytest.mark.parametrize("how", HALVES)
def test_half_precision_modules_leave_the_sums_alone(how: str) -> None:
    metric = CreditInEvent()
    first, second = batches(data(), 10, 14)
    metric.update(*first)
    metric = HALVES[how](metric)
    metric.update(*second)
    assert metric.cie_sum.dtype == torch.float64
    assert plain(metric.compute()) == expected(data())
    metric.reset()
    assert metric.cie_sum.dtype == torch.float64
    assert metric.n_trajectories.dtype == torch.int64


def test_half_precision_data() -> None:
    features, pooled, events, mask = data()
    metric = CreditInEvent()
    metric.update(features.half(), pooled.half(), events, mask)
    assert plain(metric.compute()) == expected((features.half(), pooled.half(), events, mask))


def test_states_follow_the_device() -> None:
    metric = CreditInEvent().to("meta")
    assert {state.device.type for state in metric.metric_state.values()} == {"meta"}


def test_empty_compute_warns_and_gives_nan() -> None:
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        values = CreditInEvent().compute()
    assert all(values[name].isnan() for name in ("ecm", "precision", "cie", "chance"))
    assert values["n_trajectories"] == 0


def test_no_events_at_all_gives_nan_and_the_counts() -> None:
    features, pooled, events, mask = data()
    metric = CreditInEvent()
    metric.update(features, pooled, torch.zeros_like(events), mask)
    values = metric.compute()
    assert values["cie"].isnan()
    assert (values["n_trajectories"], values["n_without_events"]) == (24, 24)


def test_inside_a_collection() -> None:
    collection = MetricCollection({"seen": CreditInEvent(), "again": CreditInEvent()})
    collection.update(*data())
    values = collection.compute()
    assert values["seen_cie"].item() == values["again_cie"].item() == credit(*data()).mean_cie


def test_validation_is_passed_on() -> None:
    features, pooled, events, mask = data()
    features[mask] = float("nan")
    with pytest.raises(ValueError, match="features must be finite"):
        CreditInEvent().update(features, pooled, events, mask)
    CreditInEvent(validate=False).update(features, pooled, events, mask)


WORKER = """
    import json, sys, torch
    from pathlib import Path
    from crest.probes.metrics import CreditInEvent

    folder, rank = Path(sys.argv[1]), int(sys.argv[2])
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    metric = CreditInEvent()
    for batch in torch.load(folder / f"{rank}.pt"):
        metric.update(*batch)
    values = {name: value.item() for name, value in metric.compute().items()}
    local = int(metric.n_trajectories)
    print(json.dumps({"values": values, "local": local}))
    torch.distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_equal_one(tmp_path: Path) -> None:
    """Real gloo processes, with different numbers of batches and of trajectories."""
    parts = batches(data(), 3, 9, 5, 7)
    torch.save(parts[:3], tmp_path / "0.pt")
    torch.save(parts[3:], tmp_path / "1.pt")
    script = tmp_path / "worker.py"
    script.write_text(textwrap.dedent(WORKER))
    environment = os.environ | {"PYTHONPATH": str(SOURCE.parent), "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen(
            [sys.executable, str(script), str(tmp_path), str(rank)], stdout=subprocess.PIPE, env=environment
        )
        for rank in range(2)
    ]
    try:
        answers = [json.loads(worker.communicate(timeout=60)[0]) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [answer["values"] for answer in answers] == [expected(data())] * 2
    # After compute each process holds its own share again, so it can go on adding.
    assert [answer["local"] for answer in answers] == [17, 7]


@pytest.mark.slow
def test_probes_import_without_torchmetrics() -> None:
    code = """
        import sys
        sys.modules["torchmetrics"] = None
        import crest.probes
        try:
            import crest.probes.metrics
        except ImportError as error:
            print(error)
    """
    environment = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert answer.stdout.strip() == missing_extra("CreditInEvent", "torchmetrics", "metrics")
