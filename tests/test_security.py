"""SECURITY.md promises nothing without a test that holds it."""

import ast
import re

from places import ROOT

TEXT = (ROOT / "SECURITY.md").read_text()
PROMISES = TEXT.partition("## What is promised")[2].partition("\n## ")[0]
ROWS = [line for line in PROMISES.splitlines() if line.startswith("| ")][1:]


def test_each_promise_names_a_test_that_exists() -> None:
    assert len(ROWS) > 10
    for row in ROWS:
        promise, _, held = row.strip("| ").rpartition(" | ")
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", held)
        assert promise.startswith("**"), row
        assert named, row
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text())
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (
                path,
                name,
            )
