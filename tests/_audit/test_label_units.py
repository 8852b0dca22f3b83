import torch

import crest
from crest._audit.label_units import units_advice


def test_a_model_of_standardised_labels_is_found_out() -> None:
    numbers = torch.Generator().manual_seed(1000)
    labels = 5 + 2.4 * torch.randn(64, generator=numbers)
    standardised = (labels - 5) / 2.4
    told = units_advice(standardised + 0.2 * torch.randn(64, generator=numbers), labels, 2.0, 1.0)
    assert "label_mean=" in told[0]
    assert units_advice(standardised, labels, 1.0, 2.0) == []
    assert units_advice(standardised, None, None, None) == []
    # Right units, an untrained model, a classifier.
    assert units_advice(labels + torch.randn(64, generator=numbers), labels, 2.0, 1.0) == []
    assert units_advice(torch.randn(64, generator=numbers), labels, 2.0, 1.0) == []
    assert units_advice(torch.randn(64, 3), labels, 2.0, 1.0) == []
    assert units_advice(standardised, torch.ones(64), 2.0, 1.0) == []


def test_an_audit_tells_it_first() -> None:
    numbers = torch.Generator().manual_seed(1000)
    knock = torch.randn(48, generator=numbers)
    x = 0.1 * torch.randn(48, 60, 1, generator=numbers)
    x[:, 30:34, 0] += knock[:, None]
    quick = crest.ExchangeSettings(trajectories=48, block=4)

    def advice(y: torch.Tensor) -> tuple[str, ...]:
        return crest.audit(lambda x: x[:, 31, 0], (x, y), exchange=quick).advice

    assert advice(50 + 9 * knock)[0].startswith("Check the units of the labels: ")
    assert not any("units" in one for one in advice(knock))
