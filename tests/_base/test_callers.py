"""A warning from any depth of crest names the user's line."""

import warnings
from pathlib import Path

import torch

from crest._base.callers import warn_of_replacing
from crest.probes.axes import warn_of_axes
from crest.strangers.batch import Batch
from crest.strangers.model import settled_axes


def test_the_line_is_that_outside_of_crest() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_of_axes(False, (8, 2, 500), None)
        settled_axes(lambda x: x, Batch(torch.zeros(8, 2, 500)), False, notes=[])
    assert [one.filename for one in told] == [__file__] * 2


def test_a_file_that_is_replaced_is_told_at_the_users_line(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_of_replacing(tmp_path / "a.html")
        assert not told
        (tmp_path / "a.html").write_text("")
        warn_of_replacing(tmp_path / "a.html")
    assert told[0].filename == __file__
    assert str(told[0].message).endswith("a.html replaces the file that was there")
