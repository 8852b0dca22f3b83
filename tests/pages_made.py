"""Audits of functions whose reading is known, and a repair of them: for tests of pages."""

import torch
from torch import Tensor, nn

import crest
from crest._repair import AS_IT_IS, MeasuredModel

EVIL = "<img src=x>"
SMALL = crest.ExchangeSettings(trajectories=24, block=4, bootstrap=40)
CONDITIONS = ["600 rpm", EVIL, "1200 rpm"] * 8


def signals(count: int = 24, steps: int = 160) -> tuple[Tensor, Tensor]:
    """A level and a knock, each drawn by itself; the target is the size of the knock."""
    generator = torch.Generator().manual_seed(1000)
    level, knock = torch.randn(2, count, generator=generator)
    x = level[:, None, None] + 0.02 * torch.randn(count, steps, 1, generator=generator)
    x[:, 80:86, 0] += 2 + knock[:, None]
    return x, knock


def reader(weight: float):
    """The knock without its level, and so much of the level."""
    return lambda x: x[:, 80:86, 0].mean(1) - 2 - (1 - weight) * x[:, :60, 0].mean(1)


def audited(weight: float, *, rate: float | None = 3200.0) -> crest.Audit:
    """An audit of `reader`, with names, conditions and maybe a sample rate."""
    found = crest.audit(reader(weight), signals(), conditions=CONDITIONS, exchange=SMALL)
    return found.named(
        channels=["acceleration"],
        trajectories=[f"machine {row}, {name}" for row, name in enumerate(CONDITIONS)],
        sample_rate=rate,
    )


def audited_classes(*, count: int = 24) -> crest.Audit:
    """An audit of logits of three classes."""
    x, knock = signals(count)
    classes = torch.bucketize(knock, torch.tensor([-0.5, 0.5]))

    def logits(x: Tensor) -> Tensor:
        told = reader(0.5)(x).unsqueeze(1)
        return torch.cat([-told - 0.5, torch.zeros_like(told), told - 0.5], 1)

    return crest.audit(logits, (x, classes), exchange=SMALL).named(classes=["new", "worn", "gone"])


def repaired(*, name: str | None = "AC coupling") -> crest.Repaired:
    """A repair of `reader`; None for one that found nothing."""
    before, after = audited(0.8), audited(0.0)
    rows = {AS_IT_IS: MeasuredModel(id_error=0.7, exchange=before.exchange, field_error=1.5)}
    if name is not None:
        rows[name] = MeasuredModel(id_error=0.1, exchange=after.exchange, field_error=0.2)
    choice = crest.choose({key: row.candidate() for key, row in rows.items()}, keep=AS_IT_IS)
    return crest.Repaired(
        model=nn.Identity(),
        name=choice.name or AS_IT_IS,
        choice=choice,
        candidates=rows,
        skipped={EVIL: "No."},
        conditions=tuple(CONDITIONS),
        notes=("A note.",),
    )


def cues() -> crest.Cues:
    """Cues of signals whose level is the target."""
    x, _ = signals()
    return crest.cues(x, x[:, :60, 0].mean(1), CONDITIONS, bootstrap=20)
