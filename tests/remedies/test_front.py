from typing import Any

import pytest
import torch
from torch import Tensor, nn

import crest
from crest.remedies import WithFront
from crest.strangers.model import StrangerModel


class Second(nn.Module):
    """Its mask is the second argument."""

    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        return x.sum((1, 2)) + valid.sum(1)


class Named(nn.Module):
    def forward(self, x: Tensor, scale: float = 1.0, mask: Tensor | None = None) -> Tensor:
        assert mask is not None
        return scale * x.sum((1, 2)) + mask.sum(1)


def test_the_front_sees_the_mask_and_hands_it_on() -> None:
    x, mask = torch.randn(3, 20, 2), torch.arange(20) < torch.tensor([[20], [12], [5]])
    model = WithFront(crest.HighPass("level"), nn.Identity())
    torch.testing.assert_close(model(x), x - x.mean(1, keepdim=True))
    expected = crest.HighPass("level")(x, mask)
    front = crest.HighPass("level")
    for kept in (Second(), Named()):
        torch.testing.assert_close(WithFront(front, kept)(x, mask), expected.sum((1, 2)) + mask.sum(1))


class Lengths(nn.Module):
    def forward(self, x: Tensor, lens: Tensor) -> Tensor:
        return x.sum((1, 2)) + lens


@pytest.mark.parametrize("channels_first", [False, True])
def test_the_front_takes_lengths_as_the_model_does(channels_first: bool) -> None:
    x, lengths = torch.randn(3, 20, 2), torch.tensor([18, 12, 5])
    mask = torch.arange(20) < lengths[:, None]
    expected = crest.HighPass("level")(x, mask).sum((1, 2)) + lengths
    model = WithFront(crest.HighPass("level", channels_first=channels_first), Lengths())
    given = x.mT if channels_first else x
    for answer in (model(given, lengths), model(given, lengths=lengths), model(given, mask)):
        torch.testing.assert_close(answer, expected)


@pytest.mark.parametrize(("model", "name"), [(Second(), "valid"), (Named(), "mask"), (Lengths(), "lens")])
def test_the_front_takes_them_by_the_models_own_name(model: nn.Module, name: str) -> None:
    x, lengths = torch.randn(3, 20, 2), torch.tensor([18, 12, 5])
    mask = torch.arange(20) < lengths[:, None]
    built = WithFront(crest.HighPass("level"), model)
    given = {name: lengths if name == "lens" else mask}
    torch.testing.assert_close(built(x, **given), built(x, mask))


def test_other_arguments_of_the_model_are_handed_on() -> None:
    x, mask = torch.randn(3, 20, 2), torch.ones(3, 20, dtype=torch.bool)
    built = WithFront(crest.HighPass("level"), Named())
    expected = 2 * crest.HighPass("level")(x, mask).sum((1, 2)) + 20
    torch.testing.assert_close(built(x, mask, scale=2.0), expected)


def test_the_front_does_not_take_a_mask_of_padding() -> None:
    class Padding(nn.Module):
        def forward(self, x: Tensor, padding_mask: Tensor | None = None) -> Tensor:
            return x.sum((1, 2))

    built, x = WithFront(crest.HighPass("level"), Padding()), torch.randn(3, 20, 2)
    assert built(x).shape == (3,)
    for given in ({"mask": torch.ones(3, 20).bool()}, {"padding_mask": torch.zeros(3, 20).bool()}):
        with pytest.raises(ValueError, match=r"^mask is True where a step is valid, .* 'padding_mask'"):
            built(x, **given)


class Seen(nn.Module):
    """What reached the model."""

    def told(self, x: Tensor, mask: Tensor | None, lengths: Tensor | None) -> Tensor:
        self.mask, self.lengths = mask, lengths
        return x.sum((1, 2))


class BothOfOtherNames(Seen):
    def forward(self, x: Tensor, valid: Tensor | None = None, seq_lens: Tensor | None = None) -> Tensor:
        return self.told(x, valid, seq_lens)


class LengthsFirst(Seen):
    def forward(
        self, x: Tensor, seq_lens: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Tensor:
        return self.told(x, attention_mask, seq_lens)


class BothNeeded(Seen):
    def forward(self, x: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
        return self.told(x, mask, lengths)


class PaddingAndLengths(Seen):
    def forward(
        self, x: Tensor, padding_mask: Tensor | None = None, input_lengths: Tensor | None = None
    ) -> Tensor:
        return self.told(x, padding_mask, input_lengths)


class Options(Seen):
    def forward(self, x: Tensor, **options: Tensor) -> Tensor:
        return self.told(x, options.get("mask"), options.get("lengths"))


LENGTHS = torch.tensor([20, 12, 5])
VALID = torch.arange(20) < LENGTHS[:, None]


@pytest.mark.parametrize("kind", [BothOfOtherNames, LengthsFirst, BothNeeded, Options])
@pytest.mark.parametrize(
    ("places", "names"),
    [
        ((VALID, LENGTHS), {}),
        ((VALID,), {"lengths": LENGTHS}),
        ((), {"mask": VALID, "lengths": LENGTHS}),
        ((VALID,), {}),
        ((), {"mask": VALID}),
        ((LENGTHS,), {}),
        ((), {"lengths": LENGTHS}),
        ((), {"lengths": LENGTHS.tolist()}),
    ],
)
def test_mask_and_lengths_reach_a_model_under_its_own_names(
    kind: type[Seen], places: Any, names: dict[str, Any]
) -> None:
    model, x = kind(), torch.randn(3, 20, 2)
    torch.testing.assert_close(
        WithFront(crest.HighPass("level"), model)(x, *places, **names),
        crest.HighPass("level")(x, VALID).sum((1, 2)),
    )
    assert torch.equal(model.mask, VALID)
    with_lengths = "lengths" in names or len(places) == 2 or (len(places) == 1 and places[0] is LENGTHS)
    if kind is BothNeeded or (with_lengths and kind is not Options):
        assert torch.equal(model.lengths, LENGTHS)
    if kind is BothOfOtherNames or kind is LengthsFirst:
        StrangerModel(model).raw(x, VALID)
        assert torch.equal(model.mask, VALID)


def test_beside_a_mask_of_padding_lengths_are_taken_and_a_mask_is_refused() -> None:
    model, x = PaddingAndLengths(), torch.randn(3, 20, 2)
    built = WithFront(crest.HighPass("level"), model)
    built(x, lengths=LENGTHS)
    assert model.mask is None
    assert torch.equal(model.lengths, LENGTHS)
    built(x, input_lengths=LENGTHS)
    assert torch.equal(model.lengths, LENGTHS)
    for ask in (
        lambda: built(x, VALID),
        lambda: built(x, padding_mask=~VALID),
        lambda: StrangerModel(model).raw(x, VALID),
    ):
        with pytest.raises(ValueError, match="takes it as 'padding_mask'"):
            ask()


class Labelled(nn.Module):
    """Its second argument says nothing of steps."""

    def forward(self, x: Tensor, labels: object = None) -> Tensor:
        self.seen = labels
        return x.sum((1, 2))


@pytest.mark.parametrize(
    "labels",
    [torch.tensor([2, 1, 1]), torch.tensor([0, 1, 0]), torch.randn(3, 4), torch.rand(3, 20), 2.0, [2, 1, 1]],
    ids=["as lengths", "zeros and ones", "soft", "times", "number", "list"],
)
def test_a_second_argument_that_is_no_mask_is_handed_on(labels: object) -> None:
    x, model = torch.randn(3, 20, 2), Labelled()
    built = WithFront(crest.HighPass("level"), model)
    expected = built(x)
    torch.testing.assert_close(built(x, labels=labels), expected)
    assert model.seen is labels
    torch.testing.assert_close(built(x, labels), expected)
    assert model.seen is labels


def test_a_mask_with_other_axes_is_refused() -> None:
    x, mask = torch.randn(3, 20, 2), torch.ones(3, 1, 20, dtype=torch.bool)
    for model, name in ((Second(), "valid"), (Labelled(), "labels")):
        with pytest.raises(ValueError, match=rf"^{name} must have shape \(B, T\), got \(3, 1, 20\)"):
            WithFront(crest.HighPass("level"), model)(x, **{name: mask})


def test_lengths_may_be_a_list_and_come_beside_a_mask() -> None:
    x, lengths = torch.randn(3, 20, 2), [18, 12, 5]
    mask = torch.arange(20) < torch.tensor(lengths)[:, None]
    built = WithFront(crest.HighPass("level"), Lengths())
    expected = built(x, mask)
    for answer in (built(x, lens=lengths), built(x, lengths), built(x, lengths=lengths)):
        torch.testing.assert_close(answer, expected)
    torch.testing.assert_close(built(x, mask, lens=torch.tensor(lengths)), expected)


def test_a_model_that_takes_a_mask_and_lengths_gets_both() -> None:
    class Both(nn.Module):
        def forward(self, x: Tensor, mask: Tensor | None = None, lens: Tensor | None = None) -> Tensor:
            given = torch.zeros(len(x)) if lens is None else lens
            return (x * (1 if mask is None else mask.unsqueeze(-1))).sum((1, 2)) + 100 * given

    x, lengths = torch.randn(3, 20, 2), torch.tensor([18, 12, 5])
    mask = torch.arange(20) < lengths[:, None]
    built, filtered = WithFront(crest.HighPass("level"), Both()), crest.HighPass("level")(x, mask)
    expected = Both()(filtered, mask, lengths)
    for answer in (
        built(x, mask, lengths),
        built(x, mask, lens=lengths),
        built(x, lengths=lengths),
        built(x, lengths),
    ):
        torch.testing.assert_close(answer, expected)
    torch.testing.assert_close(built(x, mask), Both()(filtered, mask))


def test_one_length_for_all_is_the_models_own_affair() -> None:
    x, built = torch.randn(3, 20, 2), WithFront(crest.HighPass("level"), Lengths())
    expected = crest.HighPass("level")(x).sum((1, 2)) + 20
    torch.testing.assert_close(built(x, lens=20), expected)


def test_a_model_and_its_filter_in_the_other_order_are_told() -> None:
    with pytest.raises(ValueError, match=r"^model must be the model behind the filter"):
        WithFront(nn.Identity(), crest.HighPass("level"))


def test_a_front_without_a_mask_gets_the_signals_alone() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Tensor, scale: float = 2.0) -> Tensor:
            return scale * x

    x, mask = torch.randn(3, 20, 2), torch.arange(20) < torch.tensor([[20], [12], [5]])
    for front in (Scaled(), nn.Sequential(Scaled())):
        expected = 2 * x.sum((1, 2)) + mask.sum(1)
        torch.testing.assert_close(WithFront(front, Second())(x, mask), expected)


def test_a_front_may_name_its_mask_and_not_its_padding() -> None:
    class Valid(nn.Module):
        def forward(self, x: Tensor, valid: Tensor | None) -> Tensor:
            return x if valid is None else x * valid.unsqueeze(-1)

    class Padded(nn.Module):
        def forward(self, x: Tensor, padding: Tensor) -> Tensor:
            return x * ~padding.unsqueeze(-1)

    x, mask = torch.randn(3, 20, 2), torch.arange(20) < torch.tensor([[20], [12], [5]])
    model = WithFront(Valid(), Second())
    torch.testing.assert_close(model(x, mask), (x * mask.unsqueeze(-1)).sum((1, 2)) + mask.sum(1))
    with pytest.raises(ValueError, match=r"^mask is True where a step is valid, .* 'padding'"):
        WithFront(Padded(), Second())
