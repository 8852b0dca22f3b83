"""The watch as a callback of Lightning. Needs lightning, or pytorch-lightning.

Not imported by `crest._audit`, which works without them.
"""

import importlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from crest._audit.watch import Watch
from crest._base.arguments import require
from crest._base.doors import door
from crest._base.extras import missing_extra
from crest.exchange.settings import settings_of
from crest.strangers.model import part_at

# One code under two names, with classes of their own.
_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _callback() -> Any:
    """The base class: of the package that is loaded already, since the user's trainer is of that one."""
    for name in sorted(_PACKAGES, key=lambda package: package not in sys.modules):
        try:
            return importlib.import_module(name).Callback
        except ImportError as error:
            missing = error
    raise ImportError(missing_extra("LightningWatch", "lightning", "lightning")) from missing


_Callback: Any = _callback()


@door
class LightningWatch(_Callback):  # type: ignore[misc]
    """A `crest.Watch` of the module that a Lightning trainer fits, logged by `log_dict` beside the losses.

    A row is measured and logged at the end of each validation in an epoch that `every` asks for, the sanity check aside; in an
    epoch without validation, when the training epoch ends. If the validation loader is watched, epochs before the first
    validation can be without a row, since Lightning has not made the loader yet. So checkpoints and early stopping can monitor
    what decides in audit and rule, `crest/moved` or `crest/expected_error`. Each process of a distributed training measures what its own loader gives, and
    the mean is logged.

    Args:
        batches: held-out data, in any form that `crest.audit` takes. By default the first validation loader of the
            trainer, whose batches must then have one of those forms.
        model: name of the part of the module that is asked, as `named_modules()` lists it, if it is not
            the module's own `forward` that gives the predictions.
        every: as in `crest.Watch`.
        prefix: as in `crest.Watch`. Each of several callbacks needs its own.
        **options: every other argument of `crest.Watch`, passed on as it is; `exchange=crest.ExchangeSettings(invariant=...)` says
            what the prediction must not depend on.

    Attributes:
        watch: the `crest.Watch`, with its history; None before training starts.

    Example:
        >>> callback = LightningWatch(every=5)  # lightning.Trainer(callbacks=[callback, ...])
        >>> callback.watch is None
        True
    """

    def __init__(
        self,
        batches: Any = None,
        *,
        model: str | None = None,
        every: int = 1,
        prefix: str = "crest/",
        **options: Any,
    ) -> None:
        # What is wrong is told here and not at the first epoch.
        require("every", every, "be a whole number, 1 or more")
        unknown = [name for name in options if name not in inspect.signature(Watch).parameters]
        if unknown:
            raise ValueError(f"options must be arguments of crest.Watch, got {', '.join(unknown)}")
        settings_of(options.get("exchange"))
        for name in ("answer", "error"):
            if not callable(options.get(name, len)) and options[name] is not None:
                raise ValueError(f"{name} must be callable, got {options[name]!r}")
        self.watch: Watch | None = None
        self._batches, self._model, self._prefix = batches, model, prefix
        self._options: dict[str, Any] = {"every": every, "prefix": prefix, **options}
        self._logged: int | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Make the watch, unless its data comes with the first validation: a mistake shows before the first epoch."""
        self._logged = None
        # Lightning knows a number by its name, and would log the mean of both.
        watches = [one for one in trainer.callbacks if isinstance(one, LightningWatch)]
        if sum(one._prefix == self._prefix for one in watches) > 1:
            raise ValueError(
                f"prefix must be another one for each LightningWatch of a trainer, got {self._prefix!r} twice"
            )
        if not self._waits(trainer, pl_module):
            self._watch_of(trainer, pl_module)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Measure and log, if this validation is part of a training."""
        if not trainer.sanity_checking and trainer.state.fn == "fit":
            self._log(trainer, pl_module)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Measure and log, if no validation of this epoch did."""
        # Loaders are there from the first validation on: epochs before it have no row, unless batches were given.
        if self._logged != trainer.current_epoch and not self._waits(trainer, pl_module):
            self._log(trainer, pl_module)

    def _log(self, trainer: Any, pl_module: Any) -> None:
        numbers = self._watch_of(trainer, pl_module)(trainer.current_epoch)
        self._logged = trainer.current_epoch
        pl_module.log_dict(numbers, on_step=False, on_epoch=True, batch_size=1, sync_dist=True)

    def _asked(self, pl_module: Any) -> Any:
        return pl_module if self._model is None else part_at(pl_module, "model", self._model)

    def _waits(self, trainer: Any, pl_module: Any) -> bool:
        """Whether the data is still to come with the first validation."""
        if self.watch is not None and self.watch.model is self._asked(pl_module):
            return False
        return self._batches is None and trainer.val_dataloaders is None and trainer.enable_validation

    def _watch_of(self, trainer: Any, pl_module: Any) -> Watch:
        model = self._asked(pl_module)
        # A module that is fitted once more goes on with its history.
        if self.watch is None or self.watch.model is not model:
            batches = _first(trainer.val_dataloaders) if self._batches is None else self._batches
            if batches is None:
                raise ValueError("batches must be given if the trainer has no validation data, got None")
            self.watch = Watch(model, batches, **self._options)
        return self.watch


def _first(loaders: Any) -> Any:
    """The first of several loaders."""
    several = list(loaders.values()) if isinstance(loaders, Mapping) else loaders
    return (_first(several[0]) if several else None) if isinstance(several, Sequence) else several
