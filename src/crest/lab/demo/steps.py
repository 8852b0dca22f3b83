"""The steps of the demo. What a step made stays in the folder, and the next call takes it from there."""

import dataclasses
import importlib.util
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import crest
from crest._audit import Audit, audit
from crest._base.files import whole_file
from crest._base.rng import scope
from crest._repair import Repaired, repair
from crest.lab.demo.network import StridedCnn, train
from crest.lab.demo.recordings import DemoData, read_recordings, write_recordings
from crest.lab.systems import ImpactSystem, Sizes

_BATCH = 32  # our choice: docs/evidence/choices.md#demo
CHANNELS = ("position", "velocity", "acceleration / 10", "drive")
"""The channels of a recording."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """How much is simulated and trained."""

    # our choice: docs/evidence/choices.md#demo
    seed: int = 1000
    training: int = 1024
    held_out: int = 256
    field: int = 256
    epochs: int = 20


DEMO = DemoSettings()
"""About a minute and a half on two cores."""
QUICK_DEMO = DemoSettings(training=32, held_out=16, field=16, epochs=2)
"""Seconds; its numbers mean nothing."""


def loader(inputs: Tensor, targets: Tensor) -> DataLoader[tuple[Tensor, ...]]:
    """Batches in a new order in each pass.

    Example:
        >>> import torch
        >>> len(loader(torch.zeros(40, 3, 512), torch.zeros(40)))
        2
    """
    return DataLoader(TensorDataset(inputs, targets), batch_size=_BATCH, shuffle=True)


class DemoFolder:
    """A folder, and what the steps of the demo leave in it.

    Args:
        folder: made if it is missing. One that holds a demo of other settings is refused.
        settings: how much is done.
        anew: take away what an earlier demo left.
    """

    def __init__(self, folder: Path, settings: DemoSettings, *, anew: bool = False) -> None:
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"output must be a folder or a place for one, got the file {folder}")
        self.folder, self.settings, self.system = folder, settings, ImpactSystem()
        self.recordings, self.weights, self.repaired = (
            folder / name for name in ("recordings", "model.safetensors", "repaired")
        )
        self.page, self.explorer = folder / "page.html", folder / "trajectories.html"
        self.kept: list[str] = []
        """What an earlier call left and this one took."""
        if anew:
            self._clear()
        folder.mkdir(parents=True, exist_ok=True)
        told = {**dataclasses.asdict(settings), "system": "impact", "version": crest.__version__}
        about = json.dumps(told, indent=2) + "\n"
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
        for place in (self.weights, self.page, self.explorer, self.folder / "settings.json"):
            place.unlink(missing_ok=True)

    def data(self) -> DemoData:
        """The recordings, simulated and written unless they are there; always read from the files."""
        table, sizes = self.recordings / "table.csv", self.settings
        if table.exists():
            self.kept.append("recordings")
        else:
            some = Sizes(train=sizes.training, id=sizes.held_out, ood=sizes.field)
            write_recordings(self.recordings, self.system.splits(sizes.seed, some))
        return read_recordings(
            table, steps=self.system.steps, sample_rate=self.system.sample_rate, channels=CHANNELS
        )

    def network(self, data: DemoData) -> nn.Module:
        """An untrained network for these recordings."""
        with scope(self.settings.seed, "demo/network"):
            return StridedCnn(len(data.channels))

    def trained(self, data: DemoData) -> nn.Module:
        """The network, trained unless its weights are there."""
        model = self.network(data)
        if self.weights.exists():
            self.kept.append("network")
            try:
                model.load_state_dict(safetensors.torch.load_file(self.weights))
            except (safetensors.SafetensorError, RuntimeError) as error:
                raise ValueError(
                    f"{self.weights} does not hold the demo's network: --anew starts anew"
                ) from error
            return model.eval()
        with scope(self.settings.seed, "demo/training"):
            train(model, loader(*data.training), epochs=self.settings.epochs)
        with whole_file(self.weights) as file:
            file.write(safetensors.torch.save(model.state_dict()))
        return model.eval()

    def audited(self, model: nn.Module, data: DemoData) -> Audit:
        """An audit on the recordings held out. Events are shown beside; the verdict does not see them."""
        return audit(model, data.held_out, events=data.events).named(channels=data.channels)

    def mended(
        self, model: nn.Module, data: DemoData, tell: Callable[[str], object] | None = None
    ) -> Repaired:
        """What `crest.repair` makes of the network with its defaults; done unless it is there.

        Args:
            model: trained.
            data: its recordings of the field are measured on, and choose nothing.
            tell: called with a sentence as each candidate begins and ends.
        """
        # The last file that a repair writes: with it the repair is complete.
        if (self.repaired / "repaired.json").exists():
            self.kept.append("repair")
            return Repaired.load(self.repaired, self.network(data))
        found = repair(
            model,
            loader(*data.training),
            fit=partial(train, epochs=self.settings.epochs),
            validation=[data.held_out],
            field=[data.field],
            # Two candidates at a time need joblib, and give the same numbers as one after the other.
            jobs=2 if importlib.util.find_spec("joblib") else 1,
            tell=tell,
        )
        found.save(self.repaired)
        return found
