"""The templates, and how values come into them."""

import importlib.resources
import json
import lzma
from typing import Any

import jinja2
import markupsafe
import plotly.graph_objects as go

from crest._pages.colours import COLOURS
from crest._pages.first import screen_names, with_code


def page_environment() -> jinja2.Environment:
    """The environment of every page: text is escaped, `data` writes JSON, `include` copies a style sheet or a script.

    Every template has the name `plotly` for plotly's script, and `colours`.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("crest._pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"data": _data, "with_code": with_code}
    environment.globals |= {
        "include": lambda name: _as_it_is(environment, name),
        "plotly": markupsafe.Markup(_plotly()),
        "colours": COLOURS,
        **screen_names(),
    }
    return environment


def _plotly() -> str:
    """The script of plotly with scatter and bars alone: Python's plotly has the whole one only, four times as large."""
    packed = importlib.resources.files("crest._pages") / "plotly" / "plotly-basic.min.js.xz"
    return lzma.decompress(packed.read_bytes()).decode()


def _data(value: Any) -> markupsafe.Markup:
    """The value as JSON. Text in it cannot end the script tag that surrounds it."""
    if isinstance(value, go.Figure):
        text: str = value.to_json()
    else:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return markupsafe.Markup(text.replace("<", "\\u003c"))


def _as_it_is(environment: jinja2.Environment, name: str) -> markupsafe.Markup:
    """A style sheet or script of ours, copied into the page. It is not read as a template."""
    if environment.loader is None:
        raise ValueError(f"environment must have a loader to read {name}")
    return markupsafe.Markup(environment.loader.get_source(environment, name)[0])
