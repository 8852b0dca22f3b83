"""The page of an audit."""

from pathlib import Path

import pytest
import torch
from torch import nn

import crest
from crest._audit import audit
from crest._audit.page import audit_page


def of_knocks(weight: float, **options: object):
    generator = torch.Generator().manual_seed(1000)
    level, knock = torch.randn(2, 24, generator=generator)
    x = level[:, None, None] + 0.02 * torch.randn(24, 80, 1, generator=generator)
    x[:, 40:46, 0] += knock[:, None]
    return audit(lambda x: x[:, 42, 0] - x[:, 20, 0] + weight * x[:, 20, 0], (x, knock), **options)


def test_before_and_after_stand_side_by_side(tmp_path: Path) -> None:
    # As much of the level as leaves the task learnt, and more than the limit.
    before, after = of_knocks(0.8), of_knocks(0.0)
    place = before.to_html(tmp_path / "audit.html", after=after, title="Mine <1>")
    text = place.read_text()
    assert text.startswith("<!doctype html>")
    assert "<title>Mine &lt;1&gt;</title>" in text
    assert "before: background" in text
    assert "after: events" in text
    assert '"readouts":[{"name":"before"' in text
    assert "http://" not in text.partition("<script>")[0]


@pytest.mark.parametrize("name", ["plain", "audit.pdf"])
def test_a_page_has_its_ending(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^path must end in .html, got '.*{name}'"):
        of_knocks(0.0).to_html(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_paragraphs_stand_under_the_heading_as_text() -> None:
    text = audit_page({"as it is": of_knocks(0.0)}, intro="A <b>trial</b>.\n\nSecond.")
    first, second = text.index("<p>A &lt;b&gt;trial&lt;/b&gt;.</p>"), text.index("<p>Second.</p>")
    assert text.index("<main") < first < second < text.index("as it is: events")


def test_a_name_of_a_channel_or_a_condition_is_only_text() -> None:
    names = ["</script><b>bold</b>"]
    audited = of_knocks(1.0, conditions=["<i>fast</i>", "slow"] * 12).named(channels=names)
    text = audit_page({"as it is": audited})
    assert "<b>bold</b>" not in text
    assert "<i>fast</i>" not in text
    assert "&lt;i&gt;fast&lt;/i&gt;" in text


def test_every_number_that_is_printed_is_on_the_page() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(16, 80, 2), torch.randn(16)
    model = nn.Sequential(nn.Linear(2, 4), crest.MeanReadout(), nn.Linear(4, 1))
    audited = audit(model, (x, y), events=torch.arange(80).expand(16, 80) < 8)
    text = audit_page({"as it is": audited})
    for name, value in (
        ("error of a constant prediction", f"{audited.exchange.constant_error:.3g}"),
        ("Prec@|E|", f"{audited.credit.precision:.2f}"),
    ):
        assert f'<th scope="row">{name}</th><td>{value}</td>' in text


def test_classes_have_their_names_or_their_numbers() -> None:
    x, y = torch.randn(16, 80, 2), torch.arange(16) % 3

    def logits(x: torch.Tensor) -> torch.Tensor:
        return torch.stack([x.mean((1, 2)), x.amax((1, 2)), x[:, 0, 0]], 1)

    for classes, shown in ((None, '["0","1","2"]'), (["new", "worn", "gone"], '["new","worn","gone"]')):
        assert f'"classes":{shown}' in audit_page({"as it is": audit(logits, (x, y)).named(classes=classes)})
    assert '"classes":[]' in audit_page({"as it is": of_knocks(0.0)})
    assert audit(logits, x).classes == ("0", "1", "2")


def test_several_numbers_with_an_error_of_ones_own_are_no_classes() -> None:
    x, y = torch.randn(16, 80, 2), torch.rand(16)

    def quantiles(x: torch.Tensor) -> torch.Tensor:
        return torch.stack([x.mean((1, 2)), x.amax((1, 2)), x[:, 0, 0]], 1)

    found = audit(quantiles, (x, y), error=lambda p, y: (p[:, 1] - y).abs().mean())
    assert found.classes == ()
    assert {row.prediction for row in found.traces.rows} == {None}


def test_nothing_to_show() -> None:
    with pytest.raises(ValueError, match="audits must hold one audit or more"):
        audit_page({})
