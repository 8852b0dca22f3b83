"""Sphinx configuration: Markdown pages, and a reference made of docstrings."""

import sys
from pathlib import Path

import crest

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "crest"
author = "the crest contributors"
html_show_copyright = False
release = crest.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "reference",
]
# A button copies what is typed: no prompts, and not what a command prints. Blocks that are only output have none.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "examples", "extensions"]
default_role = "py:obj"
add_module_names = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90
autodoc_member_order = "bysource"
autosummary_generate = False
napoleon_attr_annotations = False

html_theme = "furo"
html_title = f"crest {release}"
html_static_path = ["static"]
html_css_files = ["crest.css"]
html_theme_options = {"navigation_with_keys": True}
