"""Valid arguments for every public callable, small enough that a call takes milliseconds, and values that are wrong."""

import functools
import importlib
import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

import crest
from crest._repair import MeasuredModel, Structure
from crest.exchange import Exchange
from crest.exchange.candidates import JudgedCandidate
from crest.lab.runs.spec import RunSpec
from crest.lab.training import Schedule
from crest.recordings import Splits, Trajectories
from crest.recordings.signal_files import read_signal
from crest.theory import TwoChannel

MODULES = (
    "crest",
    "crest.probes",
    "crest.theory",
    "crest.background",
    "crest.nuisances",
    "crest.readouts",
    "crest.remedies",
    "crest.lab.systems",
    "crest.recordings",
    "crest.readouts.fast",
    "crest._audit",
    "crest._cues",
    "crest._repair",
    "crest.examples",
    "crest.strangers",
    "crest._audit",
)
MORE = {
    "CreditInEvent": lambda: crest.CreditInEvent,
    "CrestClassifier": lambda: crest.CrestClassifier,
    "CrestPooler": lambda: crest.CrestPooler,
    "CrestRegressor": lambda: crest.CrestRegressor,
    "LightningWatch": lambda: crest.LightningWatch,
    "RunSpec": lambda: RunSpec,
    "Schedule": lambda: Schedule,
    "read_signal": lambda: read_signal,
    "Repaired.load": lambda: crest.Repaired.load,
    "Structure.read": lambda: Structure.read,
}
"""Public names that no list of public names has, since they need more than torch, and what reads files of results."""

RESULTS = {
    "Audit", "Choice", "Core", "Credit", "CreditMeans", "Cue", "Cues", "DeletionCurve", "Errors", "Exchange", "MachineParts", "MachineRecordings", "MeasuredModel", "PooledMeans",
    "PoolingSlot", "ReaderWeights", "Reanchored", "Repaired", "Risks", "Separated", "Trace", "Traces", "TriedBudget",
    "TwoChannelSample", "WatchedEpoch", "WithFront",
}  # fmt: skip
"""What our functions give back: nobody calls these, and they check nothing."""
SIGNAL_ESTIMATOR = {
    "invariant": (), "remedies": (), "epochs": 1, "validation_fraction": 0.25, "random_state": 0, "verbose": False,
}  # fmt: skip
ABSTRACT = {"Augmentation", "Background", "EventReadout", "Readout"}


class Door(NamedTuple):
    """A public callable and arguments with which it works."""

    name: str
    enter: Callable[..., Any]
    valid: dict[str, Any]


def public() -> dict[str, Callable[..., Any]]:
    """Every public callable by name, found by looking."""
    found: dict[str, Callable[..., Any]] = {name: get() for name, get in MORE.items()}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            value = getattr(module, name)
            # Types that are written out, such as Literal["a", "b"], pass for callables.
            if inspect.isclass(value) or inspect.isroutine(value):
                found[name] = value
    takes = {name for name, value in found.items() if inspect.signature(value).parameters}
    return {name: value for name, value in found.items() if name in takes - RESULTS - ABSTRACT}


def series(batch: int = 6, steps: int = 24, width: int = 2) -> Tensor:
    values = torch.randn(batch, steps, width, generator=torch.Generator().manual_seed(0))
    values[:, 8:10] += torch.linspace(1, 3, batch)[:, None, None]
    return values


def mask() -> Tensor:
    return torch.arange(24).expand(6, 24) < 20


def events() -> Tensor:
    flags = torch.zeros(6, 24, dtype=torch.bool)
    flags[:, 8:10] = True
    return flags


def reads(x: Tensor, *rest: object) -> Tensor:
    return x.amax(1)[:, 0]


def taken(answer: Any) -> Any:
    return answer


def _streamed(chunk: Tensor, **given: Any) -> list[Any]:
    stream = crest.StreamingCrest(**given)
    return [*stream.push(chunk), *stream.flush()]


def fits(inputs: Tensor, targets: Tensor, mask: Tensor | None = None) -> Callable[..., Tensor]:
    level = targets.mean()
    return lambda x, mask=None: level.expand(len(x))


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv1d(1, 2, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(2, 1)
    )


def repaired_in(folder: Path) -> Path:
    """A folder with a repaired model."""
    structure = Structure(front="AC coupling", channels_first=True)
    row = MeasuredModel(id_error=0.1, exchange=exchange())
    judged = JudgedCandidate(
        id_error=0.1, exchange=exchange(), better=True, reason="It has the lowest error."
    )
    crest.Repaired(
        model=structure.build(model()), name="as it is", candidates={"as it is": row}, structure=structure,
        choice=crest.Choice("as it is", "It is the only one.", "exchange", "as it is", {"as it is": judged}),
    ).save(folder)  # fmt: skip
    return folder


def exchange() -> Exchange:
    return Exchange(
        transient=0.9, background=0.1, interaction=0.0, transient_interval=(0.8, 1.0),
        background_interval=(0.0, 0.2), interaction_interval=(0.0, 0.0), background_alone=0.0, kind="core",
        trajectories=6,
    )  # fmt: skip


def trajectories(n: int = 20) -> Trajectories:
    count = np.arange(n)
    return Trajectories(
        x=np.random.default_rng(0).normal(size=(n, 8, 1)), y=count % 3.0, sample_rate=1.0, channels=("a",),
        extra={
            "recording": count // 10, "start": count % 10 * 8, "condition": np.repeat(["s", "f"], n // 2),
            "split": np.repeat(["train", "ood"], n // 2),
        },
    )  # fmt: skip


def splits() -> Splits:
    return Splits(train=trajectories(), id=trajectories(), ood=trajectories())


def fields_of(kind: Callable[..., Any]) -> dict[str, Any]:
    """The defaults of a class, as arguments."""
    found = inspect.signature(kind).parameters
    return {name: one.default for name, one in found.items() if one.default is not inspect.Parameter.empty}


LAW = {"epsilon": 0.1, "T": 100, "s0": 1.0, "s1": 1.0, "gamma": 0.5}
LETTERS = {"alpha": 0.5, "precision": 0.5, "K": 10, "L": 5, **LAW}
SMALL: dict[str, Any] = {
    "kind": "slow", "what": "background", "sigma": 2.0, "trajectories": 6, "block": 3, "batch_size": 8, "bootstrap": 10, "seed": 0
}  # fmt: skip
SETTINGS = crest.ExchangeSettings(**SMALL)

RECORDING = {
    "window": 8, "hop": 4, "sample_rate": 10.0, "channels": ["a"], "file": "file", "label": "label", "condition": "speed",
    "events": "events", "proxy": "cue", "key": None, "columns": [0], "time": False, "resample": 20.0, "classes": None,
    "largest": 2**20,
    "start": None, "stop": None, "split": None, "group": None, "scale": 1.0, "unit": "g", "standardise": "median",
    "label_mean": 0.0, "label_scale": 1.0,
}  # fmt: skip


def valid(folder: Path) -> dict[str, dict[str, Any]]:
    """Arguments by public name."""
    np.save(folder / "a.npy", np.arange(20.0))
    (folder / "table.csv").write_text("file,label,speed,cue,events\na.npy,0.5,s,0.1,1-3\n")
    crest.recordings.save(trajectories(), folder / "data.npz")
    x, y = torch.randn(8, 1, 20), torch.rand(8)
    scored = {"scores": torch.rand(6, 24), "events": events(), "mask": mask()}
    changes = {"function": reads, "inputs": series(), "targets": torch.rand(6), "mask": mask()}
    slow = {"signals": series(), "mask": mask()}
    watched = {
        "every": 1, "events": events(), "features": None, "head": None, "channels_first": False, "keys": None, "answer": taken,
        "exchange": SETTINGS, "prefix": "crest/",
    }  # fmt: skip
    weights = {
        name: {"width": 2} for name in ("AttentionReadout", "WindowedReadout", "GatedAttentionReadout")
    }
    return {
        **weights,
        "ConjunctiveReadout": {"width": 2, "hidden": 3, "validate": True},
        "RegistersReadout": {"width": 2, "registers": 3, "validate": True},
        "ScoredAttentionReadout": {"width": 2, "hidden": 3, "validate": True},
        "GatedAttentionReadout": {"width": 2, "hidden": 3, "validate": True},
        "WindowedReadout": {"width": 2, "window": 8, "validate": True},
        **{name: {"width": 2, "validate": True} for name in ("AttentionReadout", "LastReadout", "MaxReadout")},
        "MeanReadout": {"width": 2, "validate": True},
        "EventWindowReadout": {"validate": True},
        "CrestConfig": fields_of(crest.CrestConfig),
        "CrestReadout": {**fields_of(crest.CrestReadout), "config": crest.CrestConfig()},
        "CrestClassifier": SIGNAL_ESTIMATOR,
        "CrestPooler": fields_of(crest.CrestPooler),
        "CrestRegressor": SIGNAL_ESTIMATOR,
        "StreamingCrest": {
            "readout": crest.CrestReadout(0.1, config=crest.CrestConfig(sigma=2.0)), "window": 16, "hop": 8, "chunk": series(),
        },
        "CreditInEvent": {"validate": True},
        "make_readout": {"name": "mean", "width": 2},
        "Candidate": {"function": reads, "id_error": 0.1, "exchange": exchange(), "held_out": 0.2},
        "choose": {
            "candidates": {"a": (reads, 0.1)}, "inputs": series(), "mask": None, "keep": "a", "conditions": [0, 0, 0, 1, 1, 1],
            "targets": torch.rand(6), "exchange": SETTINGS,
        },
        "leave_one_condition_out": {
            "fit": fits, "inputs": series(), "targets": torch.rand(6), "conditions": [0, 0, 1, 1, 2, 2], "mask": mask(),
        },
        "audit": {
            "model": reads, "batches": [(series(), torch.rand(6))], "features": None, "head": None, "events": events(),
            "conditions": [0, 0, 0, 1, 1, 1], "channels_first": False, "keys": None, "answer": taken,
            "exchange": SETTINGS,
        },
        "cues": {
            "x": series(8), "y": torch.rand(8), "conditions": [0, 0, 0, 0, 1, 1, 1, 1], "groups": [0, 1, 2, 3] * 2,
            "mask": torch.arange(24).expand(8, 24) < 20, "classes": False, "channels_first": False, "bootstrap": 10, "seed": 0,
        },
        "machines": {"seed": 0, "cue": "level", "tie": 0.9, "noise": 0.1},
        "network": {"outputs": 2, "seed": 0},
        "fit_network": {"model": crest.examples.network(), "batches": [(torch.randn(8, 1, 20), torch.rand(8))], "epochs": 1},
        "Watch": {"model": reads, "batches": [(series(), torch.rand(6))], **watched},
        "LightningWatch": {"model": "net", "batches": [(series(), torch.rand(6))], **watched},
        "repair": {
            "model": model(), "train_batches": [(x, y)], "pooling": ("2", "4"), "validation": [(x, y)],
            "remedies": ("re-anchored",), "channels_first": True, "keys": ("x", "y", "mask"), "exchange": SETTINGS,
        },
        "replace_pooling": {
            "model": model(), "path": "2", "readout": crest.MeanReadout(), "layout": "channels_first", "keepdim": True,
        },
        "reanchor": {
            "model": model(), "batches": [(x, y)], "pooling": "2", "head": "4", "budgets": (0.2,),
            "config": crest.CrestConfig(), "penalties": (1.0,), "layout": None, "keepdim": None, "keys": None,
        },
        "credit": {"features": series(), "pooled": torch.randn(6, 2), "events": events(), "mask": mask(), "validate": True},
        "credit_of_scores": {**scored, "validate": True},
        "chance_level": {"events": events(), "mask": mask(), "dtype": torch.float32},
        "credit_in_event_at_1": scored,
        "event_credit_mass": {**scored, "delta": 1e-12},
        "precision_at_event_rate": scored,
        "positive_credit": {"scores": torch.randn(6, 24)},
        "step_scores": {"features": series(), "pooled": torch.randn(6, 2)},
        "rmse_or_error_rate": {"predictions": torch.rand(6), "targets": torch.rand(6)},
        **{
            name: {"predictions": torch.rand(6, 3), "targets": torch.tensor([0, 1, 2, 0, 1, 2])}
            for name in ("error_rate", "macro_f1")
        },
        "label_error_rate": {
            "predictions": torch.rand(6, 3), "targets": torch.tensor([[0, 1, 1]] * 6), "threshold": 0.5,
        },
        "rmse": {"prediction": torch.rand(6), "target": torch.rand(6)},
        "signal_budget": {"signals": series(), "mask": mask(), "config": crest.CrestConfig()},
        "backend": {"name": "auto"},
        "serves": {"features": series()},
        "slot_for": {
            "layer": nn.AdaptiveAvgPool1d(1), "path": "2", "readout": crest.MeanReadout(), "layout": "channels_first",
            "keepdim": True, "argument": "path",
        },
        "Structure": {**fields_of(Structure), "front": "AC coupling", "pooling": "2", "layout": "channels_first", "keepdim": True},
        "Structure.read": {"text": Structure(front="AC coupling").written()},
        "Repaired.load": {"folder": repaired_in(folder / "repaired"), "model": model(), "fronts": None},
        "deletion": {
            **changes, "ratings": torch.rand(6, 24), "fractions": (0.5,), "target": None, "error": crest.probes.rmse,
        },
        "deletion_by": {
            **changes, "ratings": {"a": torch.rand(6, 24)}, "fractions": (0.5,), "events": events(),
            "target": None, "error": crest.probes.rmse,
        },
        "error_without": {**changes, "remove_mask": events(), "target": None, "error": crest.probes.rmse},
        "interpolate_out": {"inputs": series(), "remove_mask": events(), "mask": mask()},
        "saliency": {"function": reads, "inputs": series(), "reduce": "l2", "target": None},
        "events_at": {"events": events(), "steps": 12},
        "scores_at": {"scores": torch.rand(6, 12), "steps": 24},
        "exchange_test": {"function": reads, "inputs": series(), "mask": None, "exchange": SETTINGS},
        "ExchangeSettings": SMALL,
        "batches_of": {"tensors": series(), "size": 2},
        "evaluating": {"module": model()},
        "in_batches": {"function": reads, "batches": [series()]},
        "step_traces": {
            "signals": series(), "features": series(), "pooled": torch.randn(6, 2), "predictions": torch.rand(6),
            "targets": torch.rand(6), "cue": torch.rand(6), "events": events(), "transience": torch.rand(6, 24),
            "votes": torch.rand(6, 24), "mask": mask(), "split": "id", "digits": 4,
        },
        "exchange_background": {
            **slow, "kind": "slow", "probability": 0.5, "sigma": 2.0, "generator": torch.Generator(),
        },
        "ExchangeBackground": {**fields_of(crest.ExchangeBackground), "generator": torch.Generator()},
        "Remedy": {
            "sentence": "It does.", "front": crest.HighPass, "balanced": False, "against": ("gain",), "usual": True,
            "measured": False, "key": "mine",
        },
        "Standardise": fields_of(crest.remedies.Standardise),
        "Whiten": fields_of(crest.remedies.Whiten),
        "Envelope": {**fields_of(crest.remedies.Envelope), "band": (100.0, 200.0), "sample_rate": 1000.0},
        "ExchangeNuisances": {**fields_of(crest.remedies.ExchangeNuisances), "generator": torch.Generator()},
        "Stretch": {**fields_of(crest.remedies.Stretch), "generator": torch.Generator()},
        "Chain": {
            "changes": [crest.JitterLevel(), crest.remedies.Stretch()], "generator": torch.Generator(), "channels_first": False,
        },
        "balanced_batches": {
            "batches": [(series(), torch.rand(6))], "weights": torch.ones(6), "keys": ("x", "y", "mask"), "seed": 0,
        },
        "fitting_remedies": {"nuisances": ["gain", "colour"], "conditions": True},
        "SeparatedSignals": {**slow, "sigma": 2.0},
        "exchange": {"x": series(), "donors": series() + 1, "names": "gain+colour", "mask": mask(), "donor_mask": mask()},
        "remove": {"x": series(), "names": ["offset", "gain"], "mask": mask()},
        "nuisances_of": {"names": ["gain"], "argument": "names"},
        "sigma_of": {"cutoff": 1.0, "sample_rate": 100.0},
        "stretched": {**slow, "factor": 2.0},
        "steady_tones": {**slow, "tones": 2},
        "warm_up": {"dtype": torch.float32},
        "HighPass": fields_of(crest.HighPass),
        "JitterLevel": {**fields_of(crest.JitterLevel), "generator": torch.Generator()},
        "Collation": {"augmentation": crest.JitterLevel(), "collate_fn": list, "key": "0", "mask": None},
        "around_core": {**slow, "sigma": 2.0, "budget": 0.15},
        "transient_core": {**slow, "sigma": 2.0, "budget": 0.15},
        "background_of": {"kind": "slow", "name": "kind"},
        "kinds_of": {"kind": "slow", "name": "kind"},
        "level": slow,
        "low_pass": {"features": series(), "mask": mask(), "sigma": 2.0},
        "periodic": {**slow, "tones": 2},
        "split": {**slow, "kind": "slow", "sigma": 2.0},
        "TwoChannel": LAW,
        "simulated_risks": {"model": TwoChannel(**LAW), "n": 40, "generator": np.random.default_rng(0)},
        "simulated_budget_risk": {"K": 4, "L": 3, "s0": 1.0, "n": 40, "generator": np.random.default_rng(0)},
        "fit_reader": {"means": np.random.default_rng(0).normal(size=(9, 2)), "y": np.arange(9.0)},
        "reader_risk": {"weights": np.ones(2), "means": np.ones((9, 2)), "y": np.arange(9.0)},
        "risk_ood_from_snr": {"event": np.float64(1.0), "background": np.float64(1.0)},
        "Sizes": {"train": 4, "id": 3, "ood": 2},
        "Schedule": {**fields_of(Schedule), "epochs": 2, "learning_rate": 1e-3},
        "RunSpec": {
            "system": "gear", "regime": "default", "system_options": {}, "encoder": "pointwise", "encoder_options": {},
            "readout": "crest", "readout_options": {}, "objective": "mse", "objective_options": {}, "remedy": "none",
            "remedy_options": {}, "seed": 1000, "sizes": crest.lab.systems.Sizes(), "observe_every": 0,
            "measures": ("traces",), "schedule": None,
        },
        "Trajectories": {
            "x": np.zeros((4, 8, 1)), "y": np.zeros(4), "events": np.zeros((4, 8), bool), "proxy": np.zeros(4),
            "sample_rate": 1.0, "channels": ("a",), "source": "here", "extra": {"start": np.arange(4)},
        },
        "Splits": {"train": trajectories(), "id": trajectories(), "ood": trajectories()},
        "GearSystem": fields_of(crest.lab.systems.GearSystem),
        "ImpactSystem": fields_of(crest.lab.systems.ImpactSystem),
        "CwruSystem": fields_of(crest.lab.systems.CwruSystem),
        "global_features": {"data": trajectories()},
        "load": {"path": folder / "data.npz", "largest": 2**20},
        "save": {"trajectories": trajectories(), "path": folder / "saved.npz"},
        "make_system": {"system": "gear", "setting": "default"},
        "regime": {"system": "gear", "name": "default"},
        "read_by_ridge": {"splits": splits(), "features": crest.lab.systems.global_features, "degree": 1},
        "load_recordings": {"table": folder / "table.csv", "folder": folder, "options": None, **RECORDING},
        "RecordingOptions": RECORDING,
        "read_signal": {"path": folder / "a.npy", "key": None, "columns": [0], "time": False, "largest": 2**20},
        "split_by_condition": {
            "trajectories": trajectories(), "ood": "f", "id_fraction": 0.2, "id_by": "block", "gap": 1, "seed": 0,
            "standardise_labels": True,
        },
        "split_by_column": {
            "trajectories": trajectories(), "id_fraction": 0.2, "id_by": "block", "gap": 1, "seed": 0, "standardise_labels": False,
        },
    }  # fmt: skip


def doors(folder: Path) -> Iterator[Door]:
    """Every public callable with its arguments, and the forward pass of every module among them."""
    known = valid(folder)
    for name, enter in sorted(public().items()):
        if name not in known:
            # The laws of the theory share their letters.
            known[name] = {letter: LETTERS[letter] for letter in inspect.signature(enter).parameters}
        if name == "batches_of":
            yield Door(name, lambda tensors, size: crest.probes.batches_of(tensors, size=size), known[name])
            continue
        if name in ("CrestClassifier", "CrestPooler", "CrestRegressor"):
            # As scikit-learn wants it, arguments are looked at when they are needed.
            yield Door(name, functools.partial(_fitted, enter), known[name])
            continue
        if name == "StreamingCrest":
            yield Door(name, _streamed, known[name])
            continue
        if name == "Watch":
            yield Door(name, lambda **given: crest.Watch(**given)(0), known[name])
            continue
        yield Door(name, enter, known[name])
        if inspect.isclass(enter) and issubclass(enter, nn.Module) and name != "CreditInEvent":
            seen = {"events": events()} if name == "EventWindowReadout" else {}
            inputs = {("x" if "x" in inspect.signature(enter.forward).parameters else "features"): series()}
            yield Door(f"{name}.forward", enter(**known[name]).train(), {**inputs, **seen, "mask": mask()})


def _fitted(estimator: Callable[..., Any], **given: Any) -> Any:
    return estimator(**given).fit(np.arange(648.0).reshape(8, 9, 9) % 7, np.arange(8) % 2)


class Unlike:
    """Something that no argument can be."""

    def __repr__(self) -> str:
        return "Unlike()"


WRONG: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "no such thing",
    "empty text": lambda: "",
    "NUL": lambda: "a\0b",
    "bytes": lambda: b"bytes",
    "object": Unlike,
    "class": lambda: int,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-1": lambda: -1,
    "0": lambda: 0,
    "half": lambda: 0.5,
    "huge": lambda: 2**70,
    "True": lambda: True,
    "complex": lambda: 1j,
    "list": lambda: [1, "a"],
    "empty list": list,
    "nested list": lambda: [[1.0], [1.0, 2.0]],
    "mapping": lambda: {"a": 1},
    "tuple": lambda: (1, 2, 3),
    "scalar tensor": lambda: torch.tensor(1.0),
    "empty tensor": lambda: torch.zeros(0, 3, 2),
    "flat tensor": lambda: torch.randn(6),
    "deep tensor": lambda: torch.randn(6, 24, 2, 2),
    "other sizes": lambda: torch.randn(5, 23, 3),
    "one step": lambda: torch.randn(6, 1, 2),
    "integers": lambda: torch.ones(6, 24, 2, dtype=torch.int64),
    "flags": lambda: torch.ones(6, 24, dtype=torch.bool),
    "complex tensor": lambda: torch.randn(6, 24, 2, dtype=torch.complex64),
    "nan tensor": lambda: torch.full((6, 24, 2), math.nan),
    "half tensor": lambda: torch.randn(6, 24, 2).half(),
    "array": lambda: np.ones((6, 24, 2)),
    "nan array": lambda: np.full(6, np.nan),
    "texts": lambda: np.array(["a", "b"]),
    "objects": lambda: np.array([None, {}], dtype=object),
    "empty array": lambda: np.zeros((0, 2)),
    "function": lambda: lambda *_: None,
    "raises": lambda: len,
    "module": nn.ReLU,
    "generator": lambda: iter([1]),
    "path": lambda: Path("/no/such/place"),
    "folder": lambda: Path("/"),
}
"""Values by a name for them; most doors refuse most of them."""
