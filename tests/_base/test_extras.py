"""Which extra installs what is missing: one sentence, and no other in code or manual."""

import ast
import re

from crest._base.extras import missing_extra
from manual import PAGES
from pins import PROJECT
from places import DOCS, ROOT, SOURCE

MODULES = sorted(SOURCE.rglob("*.py"))
# What tells users what to type: modules, pages, and the scripts and notebooks beside them.
TOLD = [*MODULES, *PAGES, *ROOT.glob("*.md"), *DOCS.glob("*/*.py"), *DOCS.glob("*/*.ipynb")]


def extras_named() -> list[str]:
    """The extra in each call of the sentence."""
    calls = [
        node
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "missing_extra"
    ]
    return [ast.literal_eval(call.args[2]) for call in calls]


def test_the_extras_that_messages_name_exist() -> None:
    named = extras_named()
    assert len(named) > 10
    assert set(named) <= set(PROJECT["optional-dependencies"])


def test_the_sentence_does_without_a_name() -> None:
    assert missing_extra("this", None, "lab").startswith("this needs more packages. Install the extra lab: ")


def names_an_index(text: str) -> bool:
    """Whether a text installs this package by its name, which no index has."""
    return re.search(rf"pip install (-\S+ )*['\"\\]*({PROJECT['name']}|crest)\b", text) is not None


def test_a_name_on_an_index_is_seen() -> None:
    assert names_an_index("pip install 'crest-readout[lab]'")
    assert names_an_index("pip install -U crest")
    assert not names_an_index("pip install '.[lab]' in your clone of crest, or pip install scipy")


def test_nothing_is_installed_from_an_index_that_does_not_have_it() -> None:
    assert [path for path in TOLD if names_an_index(path.read_text())] == []


def test_one_module_words_the_sentence() -> None:
    """A message that names an extra takes its words from `missing_extra`."""
    worded = [path for path in MODULES if re.search(r"pip install ['\"\\]*\.", path.read_text())]
    assert worded == [SOURCE / "_base" / "extras.py"]
