"""An audit's part of a model card."""

import torch

import crest


def test_it_says_what_was_audited_and_what_was_found() -> None:
    generator = torch.Generator().manual_seed(1000)
    level, knock = torch.randn(2, 24, generator=generator)
    x = level[:, None, None] + 0.02 * torch.randn(24, 80, 1, generator=generator)
    x[:, 40:46, 0] += knock[:, None]
    found = crest.audit(
        lambda x: x[:, 42, 0] - 0.2 * x[:, 20, 0],
        (x, knock),
        conditions=["9", "10"] * 12,
        groups=[0, 0, 1, 2] * 6,
    ).named(sample_rate=40.0)
    text = found.to_card(date="2026-11-18")
    assert "## Audit: verdict background" in text
    assert "- 24 trajectories looked at, of 80 steps each" in text
    assert "- 2 s each, 40 steps per second" in text
    assert "- 3 groups, such as recordings" in text
    offset = found.exchange.nuisances["offset"]
    assert f"| offset \\* | {offset.moved:.2f} |" in text
    assert f"| as it is | {found.error:.3g} |" in text
    assert text.index("condition 9,") < text.index("condition 10,")
    assert all(f"- {reason[:40]}" in text for reason in found.reasons)
    assert f"- crest {crest.__version__}" in text
    assert "- date: 2026-11-18" in text
    assert "nan" not in crest.audit(lambda x: torch.zeros(len(x)), x).to_card().replace("nuisances", "")
