import torch

from crest.lab.encoders.few_channels import FewChannelLinear


def test_answers_and_gradients_are_those_of_a_linear_layer() -> None:
    layer = FewChannelLinear(3, 8).double()
    same = torch.nn.Linear(3, 8).double()
    same.load_state_dict(layer.state_dict())
    x = torch.randn(4, 10, 3, dtype=torch.float64).transpose(0, 1)
    results = []
    for each in (layer, same):
        leaf = x.clone().requires_grad_()
        answer = each(leaf)
        answer.square().sum().backward()
        results.append([answer, leaf.grad, each.weight.grad, each.bias.grad])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_no_trajectory_gives_none() -> None:
    assert FewChannelLinear(3, 8)(torch.zeros(0, 5, 3)).shape == (0, 5, 8)
