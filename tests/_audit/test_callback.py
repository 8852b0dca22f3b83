"""The callback in trainings with Lightning itself: what it logs, when, and that nothing else changes."""

import importlib
import logging
import math
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import crest
from crest import ExchangeSettings, LightningWatch

lightning = importlib.import_module("lightning.pytorch")

STEPS, EVENT = 60, 30


def knocks(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Signals (N, 1, T) with a level and a knock of six steps, whose size is the target."""
    generator = torch.Generator().manual_seed(seed)
    level, knock = torch.randn(2, count, generator=generator)
    x = level[:, None, None] + 0.02 * torch.randn(count, 1, STEPS, generator=generator)
    x[:, 0, EVENT : EVENT + 6] += knock[:, None]
    return x, knock


TRAIN, HELD = knocks(16, 1000), knocks(24, 1001)


def loader(data: tuple[Tensor, Tensor], shuffle: bool = False) -> DataLoader[Any]:
    return DataLoader(TensorDataset(*data), batch_size=8, shuffle=shuffle)


def module(package: ModuleType = lightning) -> Any:
    class Fitted(package.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(1000)
            self.net = nn.Sequential(
                nn.Conv1d(1, 4, 5), nn.ReLU(), nn.Dropout(0.2), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1)
            )  # fmt: skip

        def forward(self, x: Tensor) -> Tensor:
            return self.net(x)

        def loss(self, batch: list[Tensor]) -> Tensor:
            return (self(batch[0])[:, 0] - batch[1]).square().mean()

        def training_step(self, batch: list[Tensor], index: int) -> Tensor:
            return self.loss(batch)

        def validation_step(self, batch: list[Tensor], index: int) -> None:
            self.log("val_loss", self.loss(batch))

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 0.05)

    return Fitted()


def listed(package: ModuleType = lightning) -> Any:
    """A logger that keeps what it is given."""
    base = importlib.import_module(f"{package.__name__}.loggers.logger").Logger

    class Listed(base):
        def __init__(self) -> None:
            super().__init__()
            self.rows: list[dict[str, float]] = []

        name, version = "listed", 0

        def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
            self.rows.append(dict(metrics))

        def log_hyperparams(self, *args: Any, **kwargs: Any) -> None: ...

        def watched(self, name: str = "transient") -> list[float]:
            return [row[f"crest/{name}"] for row in self.rows if f"crest/{name}" in row]

    return Listed()


def trainer(callbacks: Any, package: ModuleType = lightning, **options: Any) -> Any:
    given = {"max_epochs": 2, "logger": listed(package), **options}
    return package.Trainer(
        callbacks=callbacks, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False,
        enable_checkpointing=False, **given,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without Lightning's advice; and no file may be left behind."""
    monkeypatch.chdir(tmp_path)
    for name in ("lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", True)
        logging.getLogger(f"{name}.utilities.rank_zero").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    assert list(tmp_path.iterdir()) == []


def test_each_epoch_is_logged_as_the_exchange_test_says() -> None:
    model, callback = module(), LightningWatch()
    fit = trainer([callback])
    fit.fit(model, loader(TRAIN, shuffle=True), loader(HELD))
    rows = callback.watch.history
    assert [row.epoch for row in rows] == [0, 1]

    with crest.probes.evaluating(model):
        tested = crest.exchange_test(
            lambda x: model(x.mT),
            HELD[0].mT,
            targets=HELD[1],
            exchange=ExchangeSettings(batch_size=64, trajectories=24, what="spectrum"),
        )
    assert rows[1].exchange == tested
    for name, value in rows[1].to_dict("").items():
        assert fit.logger.watched(name)[1] == pytest.approx(value, rel=1e-6), name
    assert fit.logger.watched() == pytest.approx([row.exchange.transient for row in rows], rel=1e-6)
    # Beside the losses of the same epoch, so that callbacks can monitor it.
    assert [{"val_loss", "crest/moved", "epoch"} <= set(row) for row in fit.logger.rows] == [True, True]
    assert fit.callback_metrics["crest/moved"] == pytest.approx(tested.together.moved, rel=1e-6)


def test_without_validation_the_training_epoch_is_the_end() -> None:
    callback = LightningWatch(HELD, every=2)
    fit = trainer([callback], max_epochs=3)
    fit.fit(module(), loader(TRAIN))
    assert [row.epoch for row in callback.watch.history] == [0, 2]
    assert len(fit.logger.watched()) == 2


def test_epochs_without_validation_have_a_row_too() -> None:
    callback = LightningWatch(HELD)
    fit = trainer([callback], max_epochs=3, check_val_every_n_epoch=2)
    fit.fit(module(), loader(TRAIN), loader(HELD))
    assert [row.epoch for row in callback.watch.history] == [0, 1, 2]
    assert len(fit.logger.watched()) == 3


def test_a_loader_that_comes_with_a_later_validation_is_waited_for() -> None:
    callback = LightningWatch()
    fit = trainer([callback], max_epochs=4, check_val_every_n_epoch=2, num_sanity_val_steps=0)
    fit.fit(module(), loader(TRAIN), loader(HELD))
    # The first validation ends epoch 1; from then on there is data, with validation or without.
    assert [row.epoch for row in callback.watch.history] == [1, 2, 3]
    # A trainer of its own has no loader yet either, also where another module was watched before.
    fit = trainer([callback], max_epochs=2, check_val_every_n_epoch=2, num_sanity_val_steps=0)
    fit.fit(module(), loader(TRAIN), loader(HELD))
    assert [row.epoch for row in callback.watch.history] == [1]


def test_the_sanity_check_and_a_validation_outside_of_training_are_no_rows() -> None:
    callback, model = LightningWatch(), module()
    fit = trainer([callback], num_sanity_val_steps=2, max_epochs=1)
    fit.validate(model, loader(HELD), verbose=False)
    assert callback.watch is None
    fit.fit(model, loader(TRAIN), loader(HELD))
    assert len(callback.watch.history) == 1
    assert len(fit.logger.watched()) == 1


@pytest.mark.parametrize("sanity", [0, 2])
def test_training_gives_the_same_bits_with_the_callback_and_without(sanity: int) -> None:
    def trained(callbacks: list[Any]) -> tuple[dict[str, Tensor], Tensor, list[float]]:
        model = module()
        fit = trainer(callbacks, num_sanity_val_steps=sanity)
        torch.manual_seed(1002)
        fit.fit(model, loader(TRAIN, shuffle=True), loader(HELD))
        return model.state_dict(), torch.get_rng_state(), [row["val_loss"] for row in fit.logger.rows]

    plain, watched = trained([]), trained([LightningWatch()])
    assert all(torch.equal(one, watched[0][name]) for name, one in plain[0].items())
    assert torch.equal(plain[1], watched[1])
    assert plain[2] == watched[2]


def test_a_part_of_the_module_can_be_asked() -> None:
    whole = LightningWatch(HELD)
    part = LightningWatch((HELD[0][:16], HELD[1][:16]), model="net", features="0", prefix="net/")
    same = LightningWatch(HELD, model="net", prefix="")
    fit = trainer([whole, part, same], max_epochs=1)
    fit.fit(module(), loader(TRAIN))
    assert same.watch.history[0].exchange == whole.watch.history[0].exchange
    assert part.watch.model is whole.watch.model.net
    # Each logs its own numbers, and not the mean of all.
    logged = {name: value for row in fit.logger.rows for name, value in row.items()}
    for callback, prefix in ((whole, "crest/"), (part, "net/"), (same, "")):
        for name, value in callback.watch.history[0].to_dict(prefix).items():
            assert logged[name] == pytest.approx(value, rel=1e-6), name
    assert logged["net/moved"] != pytest.approx(logged["crest/moved"], rel=1e-3)


def test_two_callbacks_of_one_prefix_are_refused_before_the_first_epoch() -> None:
    both = [LightningWatch(HELD), LightningWatch(HELD, model="net")]
    with pytest.raises(ValueError, match=r"prefix must be another one for each .* got 'crest/' twice"):
        trainer(both, max_epochs=1).fit(module(), loader(TRAIN))
    assert [one.watch for one in both] == [None, None]


def test_a_module_that_is_fitted_again_goes_on_with_its_history() -> None:
    callback, model = LightningWatch(HELD), module()
    trainer([callback], max_epochs=1).fit(model, loader(TRAIN))
    trainer([callback], max_epochs=1).fit(model, loader(TRAIN))
    assert [row.epoch for row in callback.watch.history] == [0, 0]
    trainer([callback], max_epochs=1).fit(module(), loader(TRAIN))
    assert [row.epoch for row in callback.watch.history] == [0]


@pytest.mark.parametrize("several", [list, tuple, lambda loaders: {"a": loaders[0], "b": loaders[1]}])
def test_of_several_loaders_the_first_is_watched(several: Any) -> None:
    class Both(type(module())):
        def validation_step(self, batch: Any, index: int, dataloader_idx: int = 0) -> None: ...

    callback = LightningWatch()
    other = loader((HELD[0][:8] + 1, HELD[1][:8]))
    trainer([callback], max_epochs=1).fit(Both(), loader(TRAIN), several([loader(HELD), other]))
    assert callback.watch.history[0].exchange.trajectories == len(HELD[0])


def test_early_stopping_can_monitor_it() -> None:
    stopping = lightning.callbacks.EarlyStopping("crest/moved", patience=0, min_delta=1e9)
    fit = trainer([LightningWatch(), stopping], max_epochs=5)
    fit.fit(module(), loader(TRAIN), loader(HELD))
    assert fit.current_epoch == 2


@pytest.mark.parametrize(("patience", "epochs"), [(2, 3), (4, 5), (7, 8)])
def test_between_rows_early_stopping_sees_the_last_value_again(patience: int, epochs: int) -> None:
    """So `patience` must exceed `every`: what does not get better is counted in epochs, not in rows."""
    callback = LightningWatch(every=3)
    stopping = lightning.callbacks.EarlyStopping("crest/moved", patience=patience, min_delta=1e9)
    fit = trainer([callback, stopping], max_epochs=9)
    fit.fit(module(), loader(TRAIN), loader(HELD))
    assert fit.current_epoch == epochs
    assert len(callback.watch.history) == math.ceil(epochs / 3)


@pytest.mark.parametrize(("check", "epochs"), [(True, 1), (False, 3)])
def test_a_constant_model_ends_early_stopping_that_checks_for_finite_values(check: bool, epochs: int) -> None:
    model = module()
    torch.nn.init.zeros_(model.net[-1].weight)
    model.net.requires_grad_(False)
    model.net[-1].bias.requires_grad_(True)
    stopping = lightning.callbacks.EarlyStopping("crest/moved", patience=9, check_finite=check)
    fit = trainer([LightningWatch(), stopping], max_epochs=3)
    fit.fit(model, loader(TRAIN), loader(HELD))
    assert fit.current_epoch == epochs


def test_it_works_alone_in_pytorch_lightning_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """One code under two names: the base class is that of the package which the user has loaded."""
    other = importlib.import_module("pytorch_lightning")
    base = importlib.import_module("crest._audit.callback")._callback
    with monkeypatch.context() as patched:
        patched.delitem(importlib.sys.modules, "lightning.pytorch")
        assert base() is other.Callback
    assert base() is lightning.Callback
    callback = LightningWatch(HELD)
    fit = trainer([callback], other, max_epochs=1)
    fit.fit(module(other), loader(TRAIN), loader(HELD))
    assert math.isfinite(fit.logger.watched("moved")[0])


# -- bad input


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"every": 0}, "every must be a whole number, 1 or more, got 0"),
        ({"kind": "fast"}, "options must be arguments of crest.Watch, got kind"),
        ({"model": 3}, "model must be text or None, got 3"),
        ({"exchange": {"seed": 1}}, "exchange must be a crest.ExchangeSettings"),
        ({"answer": 3}, "answer must be callable"),
        ({"prefix": 3}, "prefix must be text, got 3"),
        ({"prefix": None}, "prefix must be text, got None"),
    ],
)
def test_bad_settings_are_refused_at_once(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LightningWatch(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "batches must be given if the trainer has no validation data"),
        ({"batches": []}, "batches must hold at least one trajectory"),
        ({"batches": HELD, "model": "nett"}, "model must name a module inside the model, such as net"),
        ({"batches": HELD, "events": torch.zeros(3, STEPS, dtype=torch.bool)}, "events must have shape"),
    ],
)
def test_bad_data_is_refused_before_the_first_epoch(given: dict[str, Any], message: str) -> None:
    model = module()
    before = [one.clone() for one in model.parameters()]
    with pytest.raises(ValueError, match=message):
        trainer([LightningWatch(**given)]).fit(model, loader(TRAIN))
    assert all(torch.equal(one, now) for one, now in zip(before, model.parameters(), strict=True))
