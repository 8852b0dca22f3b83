"""RunSpec -> Record: simulate or load, train, measure."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from crest._base import rng
from crest.lab.evaluation import (
    condition_errors,
    macro_f1_of_splits,
    measured_budget,
    measured_credit,
    score,
    worst_error,
)
from crest.lab.model import Model
from crest.lab.objectives import make_objective
from crest.lab.remedies import make_remedy
from crest.lab.runs.attributions import measured_attributions
from crest.lab.runs.checkpoint import save_checkpoint
from crest.lab.runs.datasets import splits_of
from crest.lab.runs.measures import (
    measured_deletion,
    measured_exchange,
    measured_rating,
    measured_reanchored,
    measured_saliency,
    measured_traces,
)
from crest.lab.runs.provenance import commit, peak_memory, start_measuring_memory, versions
from crest.lab.runs.record import Look, Record
from crest.lab.runs.repairs import REPAIRS, RepairPlan, measured_repair
from crest.lab.runs.spec import RunSpec
from crest.lab.systems import RECORDED
from crest.lab.training import fit
from crest.probes import Credit, CreditMeans

# Layers draw their first weights from torch's global state: one run at a time in a process, whatever the
# number of threads that a cluster's worker has.
_ALONE = threading.Lock()


def run(spec: RunSpec, *, data: Path | None = None, checkpoint: Path | str | None = None) -> Record:
    """Train and measure one model, on one thread.

    The same machine, package versions and spec give the same bits.

    Args:
        spec: what to run.
        data: a folder in which processes share the trajectories that they made; None makes them here.
        checkpoint: a file to save the trained model to (`.safetensors`).
    """
    place = None if checkpoint is None else Path(checkpoint)
    if place is not None and not place.parent.is_dir():
        raise FileNotFoundError(f"checkpoint must be in a folder that exists, got {checkpoint}")
    with _ALONE, one_thread():
        return _run(spec, data, place)


def _run(spec: RunSpec, data: Path | None, checkpoint: Path | None) -> Record:
    start_measuring_memory()
    started = time.perf_counter()
    splits = splits_of(spec, data)
    # The first parallel loop that numba runs in a process sets the threads of OpenMP, and so torch's, anew.
    torch.set_num_threads(1)
    simulated = time.perf_counter()
    model = spec.model_for(splits.train)
    looks: list[Look] = []

    def observe(epoch: int, seen: Model) -> None:
        looks.append(
            Look(epoch=epoch, score=score(seen, splits), credit=_means(measured_credit(seen, splits.id)))
        )

    change = make_remedy(spec.remedy, **spec.remedy_options).change
    losses = fit(
        model,
        splits.train,
        schedule=spec.training,
        seed=spec.seed,
        objective=make_objective(spec.objective, **spec.objective_options),
        augmentation=change and change(generator=rng.torch_generator(spec.seed, "remedy")),
        observer=observe if spec.observe_every else None,
        observe_every=max(spec.observe_every, 1),
    )
    trained = time.perf_counter()
    parts = {"id": splits.id, "ood": splits.ood}
    credit = {name: _means(measured_credit(model, part)) for name, part in parts.items()}
    budgets = {name: measured_budget(model, part) for name, part in parts.items()}
    result = score(model, splits)
    curves = measured_deletion(model, splits.id, spec.seed) if "deletion" in spec.measures else {}
    seen = measured_saliency(model, splits.id) if "saliency" in spec.measures else None
    traces = measured_traces(model, splits) if "traces" in spec.measures else None
    before = time.perf_counter()
    shares = measured_exchange(model, splits.id) if "exchange" in spec.measures else None
    exchanging = {} if shares is None else {"exchange": time.perf_counter() - before}
    spectral = None if shares is None else measured_exchange(model, splits.id, "spectrum")
    own = spec.system == "recordings"
    again = measured_reanchored(model, splits, conditions=own) if "reanchor" in spec.measures else None
    repaired = (
        measured_repair(model, splits, spec.training, spec.seed, REPAIRS.get(spec.system, RepairPlan()))
        if "repair" in spec.measures
        else None
    )
    rating = measured_rating(model, splits.id) if "rating" in spec.measures else None
    shown = measured_attributions(model, splits.id) if "attribution" in spec.measures else {}
    if checkpoint is not None:
        save_checkpoint(checkpoint, model, spec)
    return Record(
        id=spec.id,
        spec=spec,
        resolved=spec.resolved(),
        score=result,
        credit={name: means for name, means in credit.items() if means is not None},
        budget={name: budget for name, budget in budgets.items() if budget is not None},
        losses=losses,
        looks=looks,
        deletion=curves,
        saliency=seen,
        traces=traces,
        seconds={
            "data": simulated - started,
            "training": trained - simulated,
            "measuring": time.perf_counter() - trained,
            **exchanging,
        },
        peak_memory=peak_memory(),
        versions=versions(),
        commit=commit(),
        exchange=shares,
        spectral=spectral,
        reanchored=again,
        repaired=repaired,
        rating=rating,
        worst=worst_error(model, splits.ood) if own or spec.system in RECORDED else None,
        conditions=condition_errors(model, splits) if own else {},
        attributions=shown,
        macro_f1=macro_f1_of_splits(model, splits),
    )


def _means(found: Credit | None) -> CreditMeans | None:
    return None if found is None else found.averages()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """One thread of torch inside the block: sums then have one order, and runs side by side do not disturb each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
