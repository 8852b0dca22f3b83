"""What is measured of every candidate: its ID error, its exchange test, and its error in the field if labels are given."""

from dataclasses import dataclass, field, replace

from torch import Tensor, nn

from crest._base.tensors import require_finite
from crest.exchange.measurement import exchange_test
from crest.exchange.result import Exchange
from crest.exchange.settings import ExchangeSettings
from crest.exchange.ties import Tie, even_constant, even_error
from crest.probes.asking import quietly, require_repeatable
from crest.probes.batches import batches_of, in_batches
from crest.probes.errors import ErrorOf, label_threshold, settled_error
from crest.probes.outputs import ChosenOutput
from crest.strangers.batch import Batch
from crest.strangers.model import StrangerModel


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """One way to measure, the same for all candidates."""

    validation: Batch
    """Held-out trajectories, as in training."""
    channels_first: bool
    """Whether the models take (B, C, T)."""
    error: ErrorOf
    """From predictions and targets to one number."""
    exchange: ExchangeSettings
    """How the exchange test is done, the same for all candidates."""
    tie: Tie | None = None
    """Target x condition of the held-out trajectories, if conditions are known and enough of these break the tie."""
    choice: ChosenOutput = field(default_factory=ChosenOutput)
    """Which output of the models is judged."""

    def settled(self, model: nn.Module) -> "Yardstick":
        """The same, with the threshold that the predictions of the given model tell if there are labels: one for all candidates."""
        targets = self.validation.targets
        if targets is None or not (self.validation.label or targets.ndim > 1):
            return self
        found = self.predictions(model, self.validation)
        if self.validation.label:
            return replace(self, choice=replace(self.choice, threshold=label_threshold(found)))
        return replace(self, error=settled_error(self.error, found, targets))

    def predictions(self, model: nn.Module, data: Batch) -> Tensor:
        """The model's predictions (N,), (N, 1) or (N, K), finite, on the CPU."""
        asked = batches_of(
            *(part for part in (data.inputs, data.mask) if part is not None), size=self.exchange.batch_size
        )
        with quietly(model, "model"):
            found = in_batches(self._function(model), asked).cpu()
        require_finite("predictions of the model", found)
        return found

    def require_repeatable(self, model: nn.Module) -> None:
        """Raise a ValueError unless the model predicts the same again, whatever else is in a batch."""
        parts = [part for part in (self.validation.inputs, self.validation.mask) if part is not None]
        with quietly(model, "model"):
            require_repeatable(self._function(model), parts, self.exchange.batch_size, "model")

    def error_on(self, model: nn.Module, data: Batch) -> float:
        """The model's error on these trajectories."""
        assert data.targets is not None
        return float(self.error(self.predictions(model, data), data.targets))

    def even_errors(self, model: nn.Module) -> tuple[float, float] | tuple[None, None]:
        """The errors of the model and of a constant, averaged evenly over target x condition; None if nothing is judged by these."""
        if self.tie is None or self.validation.targets is None:
            return None, None
        asked = self.predictions(model, self.validation), self.validation.targets, self.tie, self.error
        return even_error(*asked), even_constant(*asked)

    def tested(self, model: nn.Module) -> Exchange:
        """The model's exchange test on the held-out trajectories."""
        with quietly(model, "model"):
            return exchange_test(
                self._function(model),
                self.validation.inputs,
                mask=self.validation.mask,
                targets=self.validation.targets,
                error=self.error,
                exchange=self.exchange,
            )

    def other_error(self, model: nn.Module, kind: str) -> float | None:
        """The model's error with whole backgrounds of this kind exchanged: a separation that it was not trained with."""
        other = replace(self, exchange=replace(self.exchange, kind=kind, what="background"))
        return other.tested(model).exchanged_error

    def _function(self, model: nn.Module) -> StrangerModel:
        return StrangerModel(model, self.channels_first, self.choice)
