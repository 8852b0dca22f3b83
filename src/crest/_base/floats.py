"""Names for NumPy's numbers, apart from `crest._base.arrays` so that `crest.theory` needs no torch."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
"""An array of floating point numbers, of any shape and width."""

# numpy.typing.ArrayLike lists complex but not float or int, and a check at run time takes it at its word
Numbers: TypeAlias = (
    float | int | np.floating[Any] | np.integer[Any] | Sequence[float | int] | npt.NDArray[np.number[Any]]
)
"""What a law of the theory takes: a number, a list of numbers or an array."""

Values: TypeAlias = np.float64 | npt.NDArray[np.float64]
"""What NumPy gives back: a scalar for scalars, an array as soon as one argument is an array."""
