import torch

from crest.nuisances.lengths import on_valid_steps


def test_every_row_is_given_as_it_would_be_alone() -> None:
    x = torch.randn(5, 20, 2, generator=torch.Generator().manual_seed(1000))
    mask = torch.rand(5, 20, generator=torch.Generator().manual_seed(1001)) < 0.6
    mask[3] = False
    mask[4] = mask[0]
    seen = []

    def function(given: torch.Tensor) -> torch.Tensor:
        seen.append(given.shape[:2])
        return given.cumsum(1)

    made = on_valid_steps(function, x, mask)
    for row, valid in zip(range(5), mask, strict=True):
        torch.testing.assert_close(made[row, valid], x[row, valid].cumsum(0))
    assert (made[~mask] == 0).all()
    # Rows of one length are given together, and rows without a step never.
    assert sum(rows for rows, _ in seen) == 4
    assert len(seen) == len({length for _, length in seen})


def test_without_a_mask_it_is_the_function() -> None:
    x = torch.randn(2, 5, 1)
    assert torch.equal(on_valid_steps(torch.neg, x, None), -x)


def test_gradients_reach_valid_steps_alone() -> None:
    x = torch.randn(2, 6, 1, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(6) < torch.tensor([6, 4])[:, None]
    on_valid_steps(torch.square, x, mask).sum().backward()
    torch.testing.assert_close(x.grad, (2 * x * mask.unsqueeze(-1)).detach())
