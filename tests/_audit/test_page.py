"""The page of an audit."""

import dataclasses
import re
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
    (tmp_path / "audit.html").touch()
    with pytest.warns(UserWarning, match=r"audit\.html replaces the file that was there"):
        place = before.to_html(tmp_path / "audit.html", after=after, title="Mine <1>")
    text = place.read_text()
    assert text.startswith("<!doctype html>")
    assert "<title>Mine &lt;1&gt;</title>" in text
    assert "before: background" in text
    assert "after: events" in text
    assert '"readouts":[{"name":"before"' in text
    assert "http://" not in text.partition("<script>")[0]


def test_time_is_in_seconds_where_the_rate_is_known(tmp_path: Path) -> None:
    found = of_knocks(0.8)
    assert '"per":""' in found.to_html(tmp_path / "steps.html").read_text()
    assert '"per":"s"' in found.named(sample_rate=40.0).to_html(tmp_path / "seconds.html").read_text()


@pytest.mark.parametrize("name", ["plain", "audit.pdf"])
def test_a_page_has_its_ending(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^path must end in .html, got '.*{name}'"):
        of_knocks(0.0).to_html(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_after_is_of_the_same_trajectories_conditions_and_classes(tmp_path: Path) -> None:
    x, conditions = torch.randn(16, 60, 1), ["a", "b"] * 8
    before = audit(lambda x: x.mean((1, 2)), (x, x.mean((1, 2))), conditions=conditions)
    fewer = audit(lambda x: x.mean((1, 2)), (x[:12], x[:12].mean((1, 2))), conditions=conditions[:12])
    others = audit(lambda x: x.mean((1, 2)), (x, x.mean((1, 2))), conditions=["a", "c"] * 8)
    place = tmp_path / "page.html"
    for one, other, told in (
        (before, fewer, "16 trajectories, got one of 12"),
        (fewer, before, "12 trajector"),
    ):
        with pytest.raises(ValueError, match=rf"^after must be an audit of the same {told}"):
            one.to_html(place, after=other)
    with pytest.raises(
        ValueError, match=r"^after must have the same conditions, got 'c' and not 'b' for traj.* 1"
    ):
        before.to_html(place, after=others)
    two, three = (dataclasses.replace(before, classes=names) for names in (("a", "b"), ("a", "b", "c")))
    with pytest.raises(ValueError, match=r"^after must be of a model with the same 2 classes, got 3"):
        two.to_html(place, after=three)
    assert not place.exists()
    # Conditions that one of the two does not know are no others.
    before.to_html(place, after=audit(lambda x: x.mean((1, 2)), (x, x.mean((1, 2)))))


def test_paragraphs_stand_under_the_finding_as_text() -> None:
    text = audit_page({"as it is": of_knocks(0.0)}, intro="A <b>trial</b>.\n\nSecond.")
    first, second = text.index("<p>A &lt;b&gt;trial&lt;/b&gt;.</p>"), text.index("<p>Second.</p>")
    assert text.index("reads the events") < first < second < text.index("Why: events")


def test_one_model_needs_no_name_and_two_have_theirs() -> None:
    def told(audits: dict[str, crest.Audit]) -> str:
        # Without the scripts and the values of the explorer, which has the name for its address.
        return re.sub(r"<script.*?</script>", "", audit_page(audits), flags=re.DOTALL)

    one = told({"as it is": of_knocks(0.0)})
    assert "as it is" not in re.sub(r"[Ll]eave the model as it is|reads? .{0,9}as it is", "", one)
    assert "expected error, what was declared exchanged" in one
    # The rule between sections is for neighbours.
    assert re.search(r"</noscript>\s*</section>\s*<section", one)
    both = told({"before": of_knocks(0.0), "after": of_knocks(0.0)})
    assert "before: events" in both
    assert "Why: after" in both


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


@pytest.mark.parametrize(
    ("steps", "told"), [(6_000, "trajectories are shown"), (120_000, "of one trajectory are shown")]
)
def test_a_page_of_long_signals_stays_small(steps: int, told: str) -> None:
    few = of_knocks(0.8)
    assert few.traces is not None
    numbers = torch.randn(steps, generator=torch.Generator().manual_seed(1000)).tolist()
    rows = [
        dataclasses.replace(row, signals=[numbers], credit=numbers, transience=numbers, votes=[0.0] * steps)
        for row in few.traces.rows
    ]
    long = dataclasses.replace(few, steps=steps, traces=dataclasses.replace(few.traces, rows=rows))
    text = audit_page({"before": long, "after": long})
    assert len(text) < 2_000_000
    assert told in text
    assert told not in audit_page({"one": few})
