"""A repair in a notebook and on a model card."""

import dataclasses
from pathlib import Path

import pytest
import torch
from torch import nn

import crest
from crest._repair import AS_IT_IS, MeasuredModel


def exchange(error: float) -> crest.Exchange:
    one = (0.5, 0.5)
    return crest.Exchange(
        transient=0.5, background=0.5, interaction=0.0, transient_interval=one, background_interval=one,
        interaction_interval=(0.0, 0.0), background_alone=0.5, kind="core", trajectories=128, exchanged_error=error,
        constant_error=1.0, moved=0.75, invariant=("offset",),
    )  # fmt: skip


ROWS = {
    AS_IT_IS: MeasuredModel(id_error=0.14, exchange=exchange(1.5)),
    "a|<b>": MeasuredModel(id_error=0.2, exchange=exchange(0.25)),
}


def made(**options: object) -> crest.Repaired:
    choice = crest.choose({name: (row.exchange, row.id_error) for name, row in ROWS.items()}, keep=AS_IT_IS)
    given = {"model": nn.Identity(), "name": "a|<b>", "choice": choice, "candidates": ROWS} | options
    return crest.Repaired(**given)


def test_a_notebook_shows_the_pick_and_all_candidates() -> None:
    page = made(skipped={"x": "No <fit>."}, notes=("a & b",))._repr_html_()
    assert "Repaired: a|&lt;b&gt;" in page
    assert "<b>" not in page.replace("<b>What to do</b>", "")
    assert "Not tried: x. No &lt;fit&gt;." in page
    assert "a &amp; b" in page
    assert 'aria-label="good"' in page
    # No candidate has an even error or a field error.
    assert "even" not in page
    unsure = made(name=AS_IT_IS, choice=dataclasses.replace(made().choice, name=None))._repr_html_()
    assert 'aria-label="doubt"' in unsure
    assert "The rule cannot tell." in unsure


def test_a_card_has_the_candidates_and_the_audit_first(tmp_path: Path) -> None:
    audit = crest.audit(lambda x: x.mean((1, 2)), torch.randn(8, 60, 1))
    text = made().to_card(tmp_path / "card.md", audit=audit)
    assert (tmp_path / "card.md").read_text() == text
    assert text.index("## Audit: verdict") < text.index("## Repair\n")
    assert "- remedy: a|\\<b>" in text
    assert "| a\\|\\<b> \\* | 0.2 | 0.25 | 0.75 |" in text
    assert "| as it is | 0.14 | 1.5 | 0.75 |" in text
    assert "## Audit" not in made().to_card()


@pytest.mark.unchecked
def test_what_is_no_audit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^audit must be"):
        made().to_card(audit="background")


def test_a_card_that_is_replaced_is_told(tmp_path: Path) -> None:
    made().to_card(tmp_path / "card.md")
    with pytest.warns(UserWarning, match=r"card\.md replaces the file that was there"):
        made().to_card(tmp_path / "card.md")
