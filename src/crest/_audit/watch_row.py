"""What a watch found at the end of one epoch."""

from dataclasses import dataclass

from crest.exchange.result import AuditVerdict, Exchange
from crest.probes.result import CreditMeans

AS_NUMBER: dict[AuditVerdict, float] = {"events": 1.0, "unclear": 0.0, "background": -1.0}
"""The verdict as loggers take it."""


@dataclass(frozen=True, kw_only=True)
class WatchedEpoch:
    """One row of `Watch.history`. NaN stands where predictions do not vary, or are not finite."""

    epoch: int
    verdict: AuditVerdict
    """"events", "background" or "unclear": that of the exchange test. Its premises are asked by `crest.audit` alone."""
    exchange: Exchange
    """What moves the predictions when the declared nuisances are exchanged, and what they follow when the surroundings are."""
    error: float | None = None
    """On the watched trajectories as they are; None without targets."""
    core_credit: float | None = None
    """Share of the credit on the most transient steps, over trajectories that have any; None if the model was not looked into."""
    core_chance: float | None = None
    """The share of the steps that those are: the share that evenly spread credit would have."""
    credit: CreditMeans | None = None
    """CiE@1, ECM and Prec@|E| against chance; None without events."""

    def to_dict(self, prefix: str = "crest/") -> dict[str, float]:
        """The numbers by name, as any logger takes them.

        Always: `moved`, by how many standard deviations the declared nuisances move the predictions, which decides; `transient`,
        `background` and `interaction`, the shares with the surroundings exchanged; and `verdict`, which is 1 for events, 0
        for unclear and -1 for background. With targets: `error` and `expected_error`, the error with the declared nuisances
        exchanged, by which `crest.choose` chooses. If the model was looked into: `core_credit` and `core_chance`. With
        events: `cie`, `precision`, `ecm` and `chance`.

        Args:
            prefix: in front of each name.

        Example:
            >>> both = (0.5, 0.5)
            >>> exchange = Exchange(transient=0.5, background=0.5, interaction=0.0, transient_interval=both,
            ...                     background_interval=both, interaction_interval=(0.0, 0.0), background_alone=0.0,
            ...                     kind="core", trajectories=64, moved=1.0)
            >>> WatchedEpoch(epoch=3, verdict="unclear", exchange=exchange).to_dict(prefix="")
            {'transient': 0.5, 'background': 0.5, 'interaction': 0.0, 'moved': 1.0, 'verdict': 0.0}
        """
        tested, credit = self.exchange, self.credit
        decides = tested.moved if tested.together is None else tested.together.moved
        found = {
            "transient": tested.transient,
            "background": tested.background,
            "interaction": tested.interaction,
            "moved": decides,
            "verdict": AS_NUMBER[self.verdict],
            "error": self.error,
            "expected_error": tested.expected_error,
            "core_credit": self.core_credit,
            "core_chance": self.core_chance,
            "cie": None if credit is None else credit.cie,
            "precision": None if credit is None else credit.precision,
            "ecm": None if credit is None else credit.ecm,
            "chance": None if credit is None else credit.chance,
        }
        return {f"{prefix}{name}": value for name, value in found.items() if value is not None}
