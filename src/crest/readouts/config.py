"""CREST's constants: one frozen value, shared by every system."""

import dataclasses
from typing import Any

from crest._base.arguments import require_fields
from crest.background.slow import SIGMA
from crest.background.transience import RESIDUAL_GUARD


def _paper(value: float, where: str) -> Any:
    return dataclasses.field(default=value, metadata={"source": f"paper: {where}"})


def _choice(value: float, section: str) -> Any:
    return dataclasses.field(
        default=value, metadata={"source": f"our choice: docs/evidence/choices.md#{section}"}
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CrestConfig:
    """The constants of CREST; `CrestConfig.sources()` says where each one comes from.

    Example:
        >>> CrestConfig(sigma=4.0).sigma, CrestConfig.sources()["dilation"]
        (4.0, 'paper: Selective readout, d = 2')
    """

    sigma: float = _choice(SIGMA, "sigma")
    """Standard deviation in time of the Gaussian low-pass, in steps."""
    dilation: int = _paper(2, "Selective readout, d = 2")
    """Radius d, in steps, by which each selected step is widened."""
    delta: float = _choice(RESIDUAL_GUARD, "delta")
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
        require_fields(self, "be positive", "sigma")
        # What float32 holds, with room: a guard of 1e-50 would be 0 there, and one of 1e200 infinite.
        require_fields(self, "lie in [1e-30, 1e30]", "delta", "gate_width")
        require_fields(self, "be a whole number, 0 or more", "dilation")
        require_fields(self, "lie in [0, 1)", "momentum")
        slopes = ("core_slope", "core_offset", "gate_start", "alpha_offset", "alpha_slope")
        require_fields(self, "lie in [-1e30, 1e30]", *slopes)
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

    def changes(self) -> dict[str, float]:
        """The constants that differ from the defaults."""
        current = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return {name: value for name, value in current.items() if value != defaults[name]}

    @classmethod
    def sources(cls) -> dict[str, str]:
        """Where each constant comes from: the paper's equation, or a section of docs/evidence/choices.md."""
        return {field.name: field.metadata["source"] for field in dataclasses.fields(cls)}
