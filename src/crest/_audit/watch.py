"""Measure a model at the end of an epoch, and leave the training as it is."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from crest._audit.looking import credit_at, known_events, looked_into
from crest._audit.readings import FeaturesNotFiniteError, Readings, core_of
from crest._audit.verdict import FEWEST
from crest._audit.watch_row import WatchedEpoch
from crest._audit.watch_table import table_of
from crest._base.arguments import require
from crest._base.doors import door_leaving
from crest._base.recorded import recorded
from crest.exchange.measurement import exchange_test
from crest.exchange.result import Exchange
from crest.exchange.settings import ExchangeSettings, settings_of
from crest.probes.asking import ChangedSignalsError
from crest.probes.errors import ErrorOf, as_numbers_note, on_copies, rmse_or_error_rate, settled_error
from crest.probes.foreign import as_function
from crest.probes.outputs import Output
from crest.probes.result import CreditMeans
from crest.strangers.answers import stranger_of
from crest.strangers.batch import Batch, BatchKeys, gathered, require_in_order
from crest.strangers.recorded import inputs_of, rows_of


class _NotFiniteError(ArithmeticError):
    """The model predicts NaN or infinity."""


@door_leaving("model")
class Watch:
    """What a model's predictions follow, measured at the end of each epoch: the small form of `crest.audit` for a training loop.

    The same trajectories, exchanged in the same way, each time: what moves from row to row is the model. Afterwards these
    are as before: its parameters, gradients, buffers and modes, its modules with their hooks, the tensors, arrays, lists and
    dicts that it holds, and the states of all global generators. So training gives the same bits with a watch and without,
    unless the model's forward writes to other Python objects, such as a generator of its own. The model is asked once when the watch is made, so that a mistake shows before the first epoch.
    If its predictions are not finite later, the row has NaN, and training goes on; so it does for the credit if its features are not.

    Args:
        model: any module or function. A module is asked in evaluation mode and without gradients.
        batches: held-out data as in training, in any form that `crest.audit` takes. They are read once, now.
        every: how many epochs from one row to the next; epochs count from 0, and the first has a row.
        events: (N, T), if they are known, at the steps of the inputs, in the order of the batches.
        features: as in `crest.audit`; False does not look into the model.
        head: as in `crest.audit`.
        channels_first: as in `crest.audit`.
        keys: as in `crest.audit`.
        answer: as in `crest.audit`.
        output: as in `crest.audit`.
        error: from predictions and targets to one number, as in `crest.audit`.
        exchange: how the exchange test is done, what is declared, `crest.ExchangeSettings(invariant=...)`, in the place of the
            argument that `crest.audit` has for it, and how many trajectories are looked at: the first ones; no batch after
            them is read. A row takes about `block` + 16 predictions for each, so fewer trajectories make it cheaper.
        prefix: in front of each name that is returned, so that several watches can share a logger.

    Attributes:
        model: the model, as it was given.
        history: a `crest._audit.WatchedEpoch` for each row.
        notes: what was assumed about the model.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> level, knock = torch.randn(2, 64, generator=generator)
        >>> x = level[:, None, None] + 0.01 * torch.randn(64, 100, 1, generator=generator)
        >>> x[:, 50:54, 0] += knock[:, None]
        >>> weight = torch.tensor(0.0)
        >>> watch = Watch(lambda x: x[:, 52, 0] - weight * x[:, 20, 0], x)
        >>> for epoch in range(3):
        ...     weight = weight + 0.5 * (1 - weight)
        ...     numbers = watch(epoch)
        >>> sorted(numbers)
        ['crest/background', 'crest/interaction', 'crest/moved', 'crest/transient', 'crest/verdict']
        >>> watch
        Watch of 64 trajectories
          epoch  transient  background   both  moved  verdict
              0      0.806       0.194  0.000  0.704  background
              1      0.943       0.057  0.000  0.371  events
              2      0.985       0.015  0.000  0.186  events
    """

    def __init__(
        self,
        model: Any,
        batches: Any,
        *,
        every: int = 1,
        events: Any = None,
        features: str | Literal[False] | None = None,
        head: str | None = None,
        channels_first: bool | None = None,
        keys: BatchKeys | None = None,
        answer: Callable[[Any], Tensor] | None = None,
        output: Output | None = None,
        error: ErrorOf = rmse_or_error_rate,
        exchange: ExchangeSettings | None = None,
        prefix: str = "crest/",
    ) -> None:
        asked = as_function(model, "model")
        require("every", every, "be a whole number, 1 or more")
        self._settings = settings_of(exchange)
        if events is not None:
            require_in_order(batches)
        self.model, self.every = model, every
        self.history: list[WatchedEpoch] = []
        self._features, self._head = features, head
        self._error, self._prefix = on_copies(error), prefix
        if (data := recorded(batches)) is not None:
            count = len(data.x)
            data, rows = data.spread(self._settings.trajectories)
            inputs, channels_first = inputs_of(data, asked, channels_first)
            batches = (inputs, data.y)
            events = data.events if events is None else rows_of(events, rows, count)
        self._given = gathered(batches, self._settings.trajectories, keys, channels_first=channels_first)
        if len(self._given) < 2:
            raise ValueError("batches must hold two trajectories or more: one has nothing to exchange")
        self._assumed: list[str] = []
        size = self._settings.batch_size
        self._stranger, self._given = stranger_of(
            asked, self._given, channels_first, answer=answer, output=output, size=size, notes=self._assumed
        )
        with self._stranger.quiet():
            if len(self._given) < FEWEST:
                self._assumed.append(f"fewer than {FEWEST} trajectories are too few for a verdict")
            batch = self._stranger.beside(self._given)
            answers = self._stranger.predictions(batch)
            self._error = settled_error(self._error, answers, batch.targets)
            self._assumed += as_numbers_note(error, answers, batch.targets)
            self._events = known_events(events, batch, self._assumed)
            read = self._read(batch)
            self._error_on(answers, batch)
            self._core = core_of(batch.signals, batch.valid, self._settings.sigma).cpu()
        self._looked_into = read is not None

    def __call__(self, epoch: int) -> dict[str, float]:
        """Add a row to the history, and return its numbers by name; nothing for an epoch that has no row.

        `crest/moved`, `crest/expected_error` and so on: `WatchedEpoch.to_dict` lists them.

        Args:
            epoch: which one has ended, from 0.
        """
        require("epoch", epoch, "be a whole number, 0 or more")
        if epoch % self.every:
            return {}
        try:
            row = self._measured(int(epoch))
        except (_NotFiniteError, ChangedSignalsError) as error:
            if not isinstance(error, _NotFiniteError) and not isinstance(error.__cause__, _NotFiniteError):
                raise
            row = self._diverged(int(epoch))
        self.history.append(row)
        return row.to_dict(self._prefix)

    def __repr__(self) -> str:
        return table_of(f"Watch of {len(self._given)} trajectories", self.history)

    def _read(self, batch: Batch) -> Readings | None:
        """What the pooling interface shows; it is found anew each time, since weights can hide an activation."""
        notes, read = list(self._assumed), None
        if isinstance(self._stranger.model, nn.Module) and self._features is not False:
            _, read = looked_into(self._stranger, batch, self._features, self._head, notes)
        self.notes = tuple(notes)
        return read

    def _error_on(self, answers: Tensor, batch: Batch) -> float | None:
        if batch.targets is None:
            return None
        found: Any = self._error(answers, batch.targets)
        try:
            return float(found)
        except (TypeError, ValueError, RuntimeError) as error:
            got = f"shape {tuple(found.shape)}" if hasattr(found, "shape") else type(found).__name__
            raise ValueError(f"error must return one number, got {got}") from error

    def _read_finite(self, batch: Batch, epoch: int) -> Readings | None:
        """The same, or None if the features are not finite: behind a bounded activation the predictions can be."""
        try:
            return self._read(batch)
        except FeaturesNotFiniteError:
            self.notes = (*self._assumed, f"the model's features are not finite in epoch {epoch}")
            return None

    def _measured(self, epoch: int) -> WatchedEpoch:
        with self._stranger.quiet():
            batch = self._stranger.beside(self._given)
            stranger = replace(self._stranger, answer=_finite(self._stranger.answer))
            answers = stranger.predictions(batch)
            tested = exchange_test(
                stranger,
                batch.signals,
                mask=batch.mask,
                targets=batch.targets,
                error=self._error,
                exchange=self._settings,
            )
            read = self._read_finite(batch, epoch)
            error = self._error_on(answers, batch)
        share, chance, credit = self._unread
        if read is not None:
            share, chance = read.means_on(self._core)
            if self._events is not None:
                credit = credit_at(read, self._events) or _NO_CREDIT
        return WatchedEpoch(
            epoch=epoch,
            verdict="unclear" if len(batch.signals) < FEWEST else tested.verdict,
            exchange=tested,
            error=error,
            core_credit=share,
            core_chance=chance,
            credit=credit,
        )

    @property
    def _unread(self) -> tuple[float | None, float | None, CreditMeans | None]:
        """Credit on the core, its chance and that on events where nothing was read: NaN, or None if nothing ever is."""
        if not self._looked_into:
            return None, None, None
        return math.nan, math.nan, None if self._events is None else _NO_CREDIT

    def _diverged(self, epoch: int) -> WatchedEpoch:
        """NaN under the same names."""
        self.notes = (*self._assumed, f"the model's predictions are not finite in epoch {epoch}")
        wanted = None if self._given.targets is None else math.nan
        share, chance, credit = self._unread
        unknown = (math.nan, math.nan)
        return WatchedEpoch(
            epoch=epoch,
            verdict="unclear",
            exchange=Exchange(
                transient=math.nan, background=math.nan, interaction=math.nan, transient_interval=unknown,
                background_interval=unknown, interaction_interval=unknown, background_alone=math.nan,
                kind=self._settings.kind, what=self._settings.what,
                trajectories=len(self._given), constant_error=wanted, exchanged_error=wanted,
            ),
            error=wanted,
            core_credit=share,
            core_chance=chance,
            credit=credit,
        )  # fmt: skip


_NO_CREDIT = CreditMeans(
    cie=math.nan, ecm=math.nan, precision=math.nan, chance=math.nan, counted=0, without_events=0
)


def _finite(answer: Callable[[Any], Tensor] | None) -> Callable[[Any], Any]:
    """The predictions; a _NotFiniteError if one is not finite. Watching must not stop a training that diverges."""

    def checked(found: Any) -> Any:
        found = found if answer is None else answer(found)
        found = torch.from_numpy(found) if isinstance(found, np.ndarray) else found
        if isinstance(found, Tensor) and not bool(torch.isfinite(found).all()):
            raise _NotFiniteError
        return found

    return checked
