"""The steps of the demo. What a step made stays in the folder, and the next call takes it from there."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import crest
from crest._audit import Audit, audit
from crest._base.files import whole_file
from crest._base.rng import scope
from crest._repair import AS_IT_IS, Repaired, repair
from crest.exchange import ExchangeSettings, exchange_test
from crest.lab.demo.network import GearCnn, train
from crest.lab.demo.recordings import DemoData, read_recordings, write_recordings
from crest.lab.systems import GearSystem, Sizes
from crest.remedies import CONTROL, REMEDIES

_BATCH = 32  # our choice: docs/choices.md#demo
REMEDIES_TRIED = tuple(
    name
    for name, one in REMEDIES.items()
    if one.pooling != "trained"
    and not one.needs_conditions
    and (not one.against or "offset" in one.against)
    and set(one.against) <= {"offset", "drift", "surroundings"}
)
"""What the repair tries against a smooth cue. Those with CREST in training would take longer than all others together."""
_ALWAYS_SHOWN = (CONTROL, *(name for name in REMEDIES_TRIED if REMEDIES[name].front))
"""The control and what people try first: they stand in the last table whatever was chosen."""

Tell = Callable[[str], object]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """How much is simulated and trained."""

    # our choice: docs/choices.md#demo
    seed: int = 1000
    training: int = 512
    held_out: int = 256
    field: int = 256
    epochs: int = 10

    @property
    def trainings(self) -> int:
        """How many networks are trained: the first one, and one for each remedy that needs training."""
        return 1 + sum(REMEDIES[name].needs_fit for name in REMEDIES_TRIED)


DEMO = DemoSettings()
"""About two minutes on two cores."""
QUICK_DEMO = DemoSettings(training=32, held_out=16, field=16, epochs=2)
"""Seconds; its numbers mean nothing."""


class ErrorRow(NamedTuple):
    """One line of the last table."""

    name: str
    id_error: float
    field_error: float
    moved: float
    """How far another's background moves the answers, in their deviations."""


def loader(inputs: Tensor, targets: Tensor) -> DataLoader[tuple[Tensor, ...]]:
    """Batches in a new order in each pass.

    Example:
        >>> len(loader(torch.zeros(40, 3, 512), torch.zeros(40)))
        2
    """
    return DataLoader(TensorDataset(inputs, targets), batch_size=_BATCH, shuffle=True)


class DemoFolder:
    """A folder, and what the steps of the demo leave in it.

    Args:
        folder: made where it is missing. One that holds a demo of other settings is refused.
        settings: how much is done.
        anew: take away what an earlier demo left.
    """

    def __init__(self, folder: Path, settings: DemoSettings, *, anew: bool = False) -> None:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"output must be a folder or a place for one, got the file {folder}")
        self.folder, self.settings, self.system = folder, settings, GearSystem()
        self.recordings, self.weights, self.repaired = (
            folder / name for name in ("recordings", "model.safetensors", "repaired")
        )
        self.page = folder / "page.html"
        if anew:
            self._clear()
        folder.mkdir(parents=True, exist_ok=True)
        about = json.dumps({**dataclasses.asdict(settings), "version": crest.__version__}, indent=2) + "\n"
        note = folder / "settings.json"
        if note.exists() and note.read_text() != about:
            raise ValueError(
                f"output must be a new folder or one of this demo, got {folder}, made with other settings: --anew starts anew"
            )
        with whole_file(note) as file:
            file.write(about.encode())

    def _clear(self) -> None:
        for place in (self.recordings, self.repaired):
            shutil.rmtree(place, ignore_errors=True)
        for place in (self.weights, self.page, self.folder / "settings.json"):
            place.unlink(missing_ok=True)

    def data(self, tell: Tell) -> DemoData:
        """The recordings, simulated and written unless they are there; always read from the files."""
        table, sizes = self.recordings / "table.csv", self.settings
        if table.exists():
            tell(f"The recordings are there already, in {self.recordings}.")
        else:
            tell(f"Simulating a gear drive, and writing its signals to {self.recordings}.")
            write_recordings(
                self.recordings,
                self.system.splits(
                    sizes.seed, Sizes(train=sizes.training, id=sizes.held_out, ood=sizes.field)
                ),
            )
        return read_recordings(
            table,
            steps=self.system.steps,
            sample_rate=self.system.sample_rate,
            channels=("transmission error", "error rate", "speed"),
        )

    def network(self, data: DemoData) -> nn.Module:
        """An untrained network for these recordings."""
        with scope(self.settings.seed, "demo/network"):
            return GearCnn(len(data.channels))

    def trained(self, data: DemoData, tell: Tell, after_epoch: Callable[[], object]) -> nn.Module:
        """The network, trained unless its weights are there."""
        model = self.network(data)
        if self.weights.exists():
            tell(f"The network was trained already: {self.weights}.")
            try:
                model.load_state_dict(safetensors.torch.load_file(self.weights))
            except (safetensors.SafetensorError, RuntimeError) as error:
                raise ValueError(
                    f"{self.weights} does not hold the demo's network: --anew starts anew"
                ) from error
            return model.eval()
        tell(f"Training a CNN on {len(data.training[0])} recordings.")
        with scope(self.settings.seed, "demo/training"):
            train(model, loader(*data.training), epochs=self.settings.epochs, after_epoch=after_epoch)
        with whole_file(self.weights) as file:
            file.write(safetensors.torch.save(model.state_dict()))
        return model.eval()

    def audited(self, model: nn.Module, data: DemoData) -> Audit:
        """An audit on the recordings held out. Events are shown beside; the verdict does not see them."""
        return audit(model, data.held_out, events=data.events).named(channels=data.channels)

    def mended(
        self, model: nn.Module, data: DemoData, tell: Tell, after_epoch: Callable[[], object]
    ) -> nn.Module:
        """The repaired network; repaired unless that was done. What the repair says is in `words`."""
        if (self.repaired / "words.txt").exists():
            tell(f"The network was repaired already: {self.repaired}.")
            return Repaired.load(self.repaired, self.network(data))

        def fit(model: nn.Module, batches: Any) -> None:
            train(model, batches, epochs=self.settings.epochs, after_epoch=after_epoch)

        tell("Repairing it: each remedy on a copy, trained by the same loop.")
        found = repair(
            model,
            loader(*data.training),
            fit=fit,
            validation=[data.held_out],
            field=[data.field],
            remedies=REMEDIES_TRIED,
            tell=tell,
        )
        found.save(self.repaired)
        # The last file: with it the repair is complete.
        with whole_file(self.repaired / "words.txt") as file:
            file.write(f"{found}\n".encode())
        return found.model

    def words(self) -> str:
        """What the repair said."""
        return (self.repaired / "words.txt").read_text().rstrip("\n")

    def errors(self) -> list[ErrorRow]:
        """Errors before and after, and those of the control and the trivial remedies, as the repair measured them."""
        told = json.loads((self.repaired / "repaired.json").read_text())
        rows = []
        for name in dict.fromkeys([AS_IT_IS, *_ALWAYS_SHOWN, told["name"]]):
            one = told["candidates"].get(name)
            if one is not None:
                mark = " *" if name == told["name"] else ""
                rows.append(
                    ErrorRow(f"{name}{mark}", one["id_error"], one["field_error"], one["exchange"]["moved"])
                )
        return rows


def moved_by_low_pass(model: nn.Module, data: DemoData) -> float:
    """How far another's low-passed background moves the answers: another separation than the audit's.

    Args:
        model: takes (B, C, T).
        data: its recordings held out are asked about.
    """
    with torch.no_grad():
        return exchange_test(
            lambda x: model(x.mT),
            data.held_out[0].mT,
            exchange=ExchangeSettings(kind="slow", what="background"),
        ).moved
