import json
from pathlib import Path

import pytest

from crest.lab.cli.console import console, print_json, words_aside


def test_stdout_has_one_json_and_the_words_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    words_aside()
    try:
        console.print("working")
        print_json({"error": float("inf"), "rows": [(1, Path("a")), {"b": "ü"}]})
    finally:
        words_aside(False)
    shown = capsys.readouterr()
    assert shown.err == "working\n"
    assert json.loads(shown.out) == {"error": None, "rows": [[1, "a"], {"b": "ü"}]}
    console.print("again")
    assert capsys.readouterr().out == "again\n"
