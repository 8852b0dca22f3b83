"""An audit in a notebook."""

import torch

import crest

EVIL = "<img src=x>"


def of(weight: float, **options: object) -> crest.Audit:
    generator = torch.Generator().manual_seed(1000)
    level, knock = torch.randn(2, 24, generator=generator)
    x = level[:, None, None] + 0.02 * torch.randn(24, 80, 1, generator=generator)
    x[:, 40:46, 0] += knock[:, None]
    return crest.audit(lambda x: x[:, 42, 0] - x[:, 20, 0] + weight * x[:, 20, 0], (x, knock), **options)


def test_it_has_the_finding_the_numbers_and_what_to_do() -> None:
    bad, good = of(0.8), of(0.0)
    page = bad._repr_html_()
    assert "Audit of 24 trajectories: background" in page
    assert 'aria-label="bad"' in page
    assert "What to do" in page
    assert f"{bad.error:.3g}" in page
    assert f"{bad.exchange.nuisances['offset'].moved:.2f} (" in page
    assert 'aria-label="good"' in good._repr_html_()
    constant = crest.audit(lambda x: torch.zeros(len(x)), torch.randn(8, 60, 1))
    assert 'aria-label="doubt"' in constant._repr_html_()


def test_conditions_are_text_in_their_natural_order() -> None:
    page = of(0.0, conditions=["1200", EVIL, "600", "900"] * 6)._repr_html_()
    assert EVIL not in page
    assert "&lt;img src=x&gt;" in page
    assert page.index(">600<") < page.index(">900<") < page.index(">1200<")
