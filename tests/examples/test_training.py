import pytest
import torch
from torch import nn

from crest.examples import fit_network, machines, network


def weights(model: nn.Module) -> torch.Tensor:
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def test_a_network_has_a_number_or_logits() -> None:
    x = torch.zeros(4, 1, 128)
    assert network()(x).shape == (4,)
    assert network(2)(x).shape == (4, 2)
    with pytest.raises(ValueError, match="outputs must be a whole number, 1 or more, got 0"):
        network(0)


def test_a_seed_repeats_the_weights_and_leaves_the_global_state() -> None:
    state = torch.get_rng_state()
    first, again, other = (weights(network(seed=seed)) for seed in (0, 0, 1))
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.slow
def test_training_learns_numbers_and_classes() -> None:
    train, bench, _ = machines(1000)
    model = network(seed=1000)
    fit_network(model, iter(train.batches()), epochs=10)
    with torch.no_grad():
        assert (model.eval()(bench.x) - bench.y).square().mean().sqrt() < 0.4
    model = network(2, seed=1000)
    fit_network(model, [(x, (y > 0).long()) for x, y in train.batches()], epochs=10)
    with torch.no_grad():
        assert (model.eval()(bench.x).argmax(1) == (bench.y > 0)).float().mean() > 0.85


def test_a_model_is_trained_in_training_mode_and_as_often_as_asked() -> None:
    model = network().eval()
    before = weights(model)
    batches = machines(1000).bench.batches(128)
    fit_network(model, batches, epochs=0)
    assert torch.equal(before, weights(model))
    fit_network(model, batches, epochs=1)
    assert model.training
    assert not torch.equal(before, weights(model))
    (norm, _) = (part for part in model if isinstance(part, nn.BatchNorm1d))
    assert norm.state_dict()["num_batches_tracked"].item() == 1


@pytest.mark.unchecked  # the shape checks would answer first
def test_batches_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"batches must be pairs of tensors \(inputs, targets\), got tensor"):
        fit_network(network(), iter([torch.zeros(2, 1, 128)]))  # type: ignore[arg-type]
