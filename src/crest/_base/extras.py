"""The one sentence that says which extra of the package installs what is missing. Needs nothing."""


def missing_extra(what: str, package: str | None, extra: str) -> str:
    """The sentence for an ImportError: what the user asked for, what that needs, and how to install it.

    It names no package of ours on an index, because there is none: an extra is installed from a clone. `package` is
    None if Python did not say which one is missing.

    Example:
        >>> missing_extra("CreditInEvent", "torchmetrics", "metrics")
        "CreditInEvent needs torchmetrics. Install the extra metrics: pip install '.[metrics]' in your clone of crest."
    """
    needed = package or "more packages"
    return (
        f"{what} needs {needed}. Install the extra {extra}: pip install '.[{extra}]' in your clone of crest."
    )
