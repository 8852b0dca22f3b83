"""`crest warm-up`: compile CREST's operators ahead."""

from typing import Literal

from crest.lab.cli.console import console


def compile_ahead(*dtypes: Literal["float32", "float64"]) -> None:
    """Compile CREST's operators ahead, such as at the installation of an image; the result is kept on disk.

    Parameters
    ----------
    dtypes
        Of features. Default: float32.
    """
    # ruff: noqa: PLC0415
    import warnings

    import torch

    import crest
    from crest.readouts.fast.kernels.residuals import residuals

    names = dtypes or ("float32",)
    for name in names:
        with console.status(f"CREST's operators for {name}"), warnings.catch_warnings():
            # What it says on the way is what was asked for.
            warnings.simplefilter("ignore", UserWarning)
            crest.readouts.fast.warm_up(getattr(torch, name))
    folder = residuals.stats.cache_path
    if folder is None:
        raise RuntimeError(
            "no folder can be written to keep compiled operators; NUMBA_CACHE_DIR can name one, which must be set when crest runs too"
        )
    console.print(f"CREST's operators for {', '.join(names)} are ready in {folder}", markup=False)
    console.print(
        "The user who runs crest must be able to write this folder, and another kind of CPU compiles again."
    )
