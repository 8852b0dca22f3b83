import torch

from crest.lab.demo.network import StridedCnn, train


def test_it_predicts_once_for_each_trajectory() -> None:
    assert StridedCnn(2)(torch.randn(3, 2, 100)).shape == (3, 1)


def test_training_starts_anew() -> None:
    """Two trainings from one state of torch agree whatever the weights were before."""
    x, y = torch.randn(8, 1, 64), torch.randn(8)
    first, second = StridedCnn(1), StridedCnn(1)
    for model in (first, second):
        torch.manual_seed(0)
        train(model, [(x, y)], epochs=3)
    for name, value in first.state_dict().items():
        assert torch.equal(value, second.state_dict()[name]), name


def test_training_lowers_the_error() -> None:
    torch.manual_seed(0)
    x = torch.randn(32, 1, 64)
    y = x.abs().mean((1, 2))
    model = StridedCnn(1)
    before = (model(x)[:, 0] - y).square().mean()
    train(model, [(x, y)], epochs=20)
    assert (model(x)[:, 0] - y).square().mean() < 0.5 * before
