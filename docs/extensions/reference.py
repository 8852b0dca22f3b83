"""Sphinx: pages may hold `{api}` and `{names}` blocks of names; every public name must be in the reference."""

# Sphinx decides the arguments of its callbacks.
# ruff: noqa: ARG001, PLR0917

import re
from pathlib import Path
from typing import Any

import rooms
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

log = logging.getLogger(__name__)

KEPT: dict[str, list[str]] = {}
# Bars; underscores at the end of a word; asterisks that open no emphasis: quoted, or before a space or a stop; the
# sign of CiE@1, which is no address.
PLAIN = re.compile(r"""(?<!\\)\||(?<=\w)_(?=\W|$)|(?<=["'])\*+|(?<![\w*.)])\*+(?=[\s.,;:)_]|$)|(?<=\w)@""")


def written(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the reference into its pages, and make the anchors beside table rows known to Sphinx.

    On GitHub such an anchor is HTML, which Sphinx does not look into.
    """
    text = rooms.written(source[0], Path(app.srcdir))
    source[0] = re.sub(r'<a id="([\w-]+)"></a>', r"[]{#\1}", text)


def as_written(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Show docstrings as they are meant: indented paragraphs are code, and |E| or readout_ are no markup."""
    new: list[str] = []
    code: int | None = None
    before = 0
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip():
            if code is not None and indent < code:
                code = None
            if code is None and new and not new[-1].strip() and indent > before:
                new += [" " * before + "::", ""]
                code = indent
            before = indent
            if code is None and not line.lstrip().startswith((">>>", "...")):
                parts = re.split(r"(`[^`]*`)", line)
                parts[::2] = [PLAIN.sub(r"\\\g<0>", part) for part in parts[::2]]
                line = "".join(parts)  # noqa: PLW2901
        new.append(line)
    lines[:] = new
    if what in ("attribute", "data", "property"):
        KEPT[name] = new


def put_back(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo what napoleon did to attributes: it takes what stands before a colon for a type."""
    lines[:] = KEPT.pop(name, lines)
    # What Python says of the fields of a named tuple that have no docstring.
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def add_public_names(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Let `crest.CrestReadout` lead to where its home is documented; warn of a name that is documented nowhere."""
    domain = env.domains.python_domain
    homes: dict[str, list[str]] = {}
    for package in rooms.packages():
        for name in rooms.exported(package):
            homes.setdefault(name.home, []).append(name.public)
    must = {name.home for package in rooms.public_packages() for name in rooms.exported(package)}
    for home, public in homes.items():
        there = next((domain.objects[one] for one in [home, *public] if one in domain.objects), None)
        if there is None:
            if home in must:
                log.warning("%s is public and on no page of the reference", public[0])
            continue
        for one in {home, *public} - set(domain.objects):
            domain.objects[one] = there._replace(aliased=True)
    return []


def not_ours(app: Sphinx, kind: str, name: str, value: object, skip: bool, options: object) -> bool | None:
    """Leave out what scikit-learn writes into an estimator, such as set_fit_request: its text points into another manual."""
    return True if (getattr(value, "__module__", None) or "").startswith("sklearn.") else None


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("source-read", written)
    # Before napoleon, which rewrites sections such as "Args:".
    app.connect("autodoc-process-docstring", as_written, priority=400)
    app.connect("autodoc-process-docstring", put_back, priority=600)
    app.connect("autodoc-skip-member", not_ours)
    app.connect("env-updated", add_public_names)
    return {"parallel_read_safe": True}
