"""CREST's constants: one frozen value, shared by every system."""

import dataclasses
import math
from typing import Any


def _paper(value: float, where: str) -> Any:
    return dataclasses.field(default=value, metadata={"source": f"paper: {where}"})


def _choice(value: float, section: str) -> Any:
    return dataclasses.field(default=value, metadata={"source": f"our choice: docs/choices.md#{section}"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class CrestConfig:
    """The constants of CREST; `CrestConfig.sources()` says where each one comes from.

    Example:
        >>> CrestConfig(sigma=4.0).sigma, CrestConfig.sources()["dilation"]
        (4.0, 'paper: Selective readout, d = 2')
    """

    sigma: float = _choice(6.0, "sigma")
    """Standard deviation in time of the Gaussian low-pass, in steps."""
    dilation: int = _paper(2, "Selective readout, d = 2")
    """Radius d, in steps, by which each selected step is widened."""
    delta: float = _choice(1e-12, "delta")
    """Guard of the divisions by a sum of residuals."""
    core_slope: float = _paper(0.55, "eps_core")
    core_offset: float = _paper(0.17, "eps_core")
    gate_start: float = _paper(0.45, "g_b")
    gate_width: float = _paper(0.10, "g_b")
    epsilon_min: float = _choice(0.02, "budget-range")
    epsilon_max: float = _choice(0.30, "budget-range")
    alpha_offset: float = _paper(1.025, "alpha")
    alpha_slope: float = _paper(2.625, "alpha")
    alpha_min: float = _paper(0.50, "alpha")
    alpha_max: float = _paper(1.00, "alpha")
    momentum: float = _choice(0.95, "pooled-budget")
    """What a batch leaves of the running average in the pooled budget."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise ValueError(f"sigma must be positive, in steps, got {self.sigma}")
        if isinstance(self.dilation, bool) or not (isinstance(self.dilation, int) and self.dilation >= 0):
            raise ValueError(f"dilation must be a whole number of steps, 0 or more, got {self.dilation}")
        if not self.delta > 0:
            raise ValueError(f"delta must be positive, got {self.delta}")
        if not self.gate_width > 0:
            raise ValueError(f"gate_width must be positive, got {self.gate_width}")
        if not 0 < self.epsilon_min <= self.epsilon_max <= 1:
            raise ValueError(
                "epsilon_min and epsilon_max must satisfy 0 < epsilon_min <= epsilon_max <= 1, "
                f"got {self.epsilon_min} and {self.epsilon_max}"
            )
        if not 0 <= self.alpha_min <= self.alpha_max <= 1:
            raise ValueError(
                "alpha_min and alpha_max must satisfy 0 <= alpha_min <= alpha_max <= 1, "
                f"got {self.alpha_min} and {self.alpha_max}"
            )
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must lie in [0, 1), got {self.momentum}")

    def changes(self) -> dict[str, float]:
        """The constants that differ from the defaults."""
        current = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return {name: value for name, value in current.items() if value != defaults[name]}

    @classmethod
    def sources(cls) -> dict[str, str]:
        """Where each constant comes from: the paper's equation, or a section of docs/choices.md."""
        return {field.name: field.metadata["source"] for field in dataclasses.fields(cls)}
