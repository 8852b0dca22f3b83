"""The exchange test on functions that read a known part, against a slow double loop, with masks and bad input."""

import math
import unittest.mock

import pytest
import torch
from torch import Tensor, nn

import crest
from crest import ExchangeSettings
from crest._base import rng
from crest.background import split
from crest.exchange import Exchange, exchange_test
from crest.exchange.sensitivity import DONORS
from crest.probes import evaluating
from stranger import Stranger

NAN = float("nan")
STEPS, EVENT = 96, 40


def signals(count: int = 128, channels: int = 1, seed: int = 1000) -> Tensor:
    """A level and a knock of four steps, both of unit variance in the first channel and independent."""
    generator = torch.Generator().manual_seed(seed)
    level, knock = torch.randn(2, count, 1, channels, generator=generator)
    made = level.expand(count, STEPS, channels).clone()
    made[:, EVENT : EVENT + 4] += knock
    return made


def read(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Level and knock of the first channel."""
    level = inputs[:, 0, 0]
    return level, inputs[:, EVENT + 1, 0] - level


def reader(event: float = 0.0, level: float = 0.0, product: float = 0.0):
    def function(inputs: Tensor) -> Tensor:
        background, transient = read(inputs)
        return event * transient + level * background + product * transient * background

    return function


def shares(found: Exchange) -> tuple[float, float, float]:
    return found.transient, found.background, found.interaction


@pytest.mark.parametrize(
    "weights", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (3.0, 1.0, 1.0), (0.0, 0.0, 1.0)]
)
def test_known_shares_are_found(weights: tuple[float, float, float]) -> None:
    found = exchange_test(
        reader(*weights), signals(512), exchange=ExchangeSettings(what="background", trajectories=512)
    )
    total = sum(weight**2 for weight in weights)
    assert shares(found) == pytest.approx([weight**2 / total for weight in weights], abs=0.05)
    assert sum(shares(found)) == pytest.approx(1.0)


def test_the_error_on_backgrounds_of_others_is_that_of_a_slow_loop() -> None:
    x = signals(16)
    level, knock = read(x)
    found = exchange_test(
        reader(event=1.0, level=0.5), x, targets=knock, exchange=ExchangeSettings(what="background")
    )
    others = ~torch.eye(16, dtype=torch.bool)
    # Transient i on background j is read as knock i + level j / 2.
    missed = (level / 2).expand(16, 16)[others]
    assert found.exchanged_error == pytest.approx(missed.square().mean().sqrt().item(), rel=1e-4)
    assert f"error on backgrounds of others: {found.exchanged_error:.3g}" in repr(found)
    assert exchange_test(
        reader(event=1.0), x, targets=knock, exchange=ExchangeSettings(what="background")
    ).exchanged_error == pytest.approx(0.0, abs=1e-5)
    assert (
        exchange_test(reader(event=1.0), x, exchange=ExchangeSettings(what="background")).exchanged_error
        is None
    )


def test_how_far_predictions_move_is_that_of_a_slow_loop() -> None:
    x = signals(16)
    level, knock = read(x)
    found = exchange_test(reader(event=1.0, level=0.5), x, exchange=ExchangeSettings(what="background"))
    own = knock + level / 2
    change = (level[None] - level[:, None])[~torch.eye(16, dtype=torch.bool)] / 2
    assert found.moved == pytest.approx(
        float(change.square().mean().sqrt() / own.std(correction=0)), rel=1e-4
    )
    assert exchange_test(
        reader(event=1.0), x, exchange=ExchangeSettings(what="background")
    ).moved == pytest.approx(0.0, abs=1e-4)
    assert math.isnan(
        exchange_test(lambda x: torch.ones(len(x)), x, exchange=ExchangeSettings(what="background")).moved
    )


def test_the_error_of_a_constant_answer() -> None:
    x = signals(16)
    knock = read(x)[1]
    found = exchange_test(reader(event=1.0), x, targets=knock, exchange=ExchangeSettings(what="background"))
    assert found.constant_error == pytest.approx(float(knock.std(correction=0)), rel=1e-4)
    classes = torch.tensor([0] * 4 + [1] * 12)
    logits = exchange_test(
        lambda x: torch.stack([x[:, 0, 0], x[:, 1, 0]], 1),
        x,
        targets=classes,
        exchange=ExchangeSettings(what="background"),
    )
    assert logits.constant_error == pytest.approx(0.25)


def test_a_classifier_and_an_error_of_ones_own_on_backgrounds_of_others() -> None:
    x = signals(64)
    level, knock = read(x)

    def logits(inputs: Tensor) -> Tensor:
        signs = read(inputs)[0]
        return torch.stack([-signs, signs], 1)

    reads_level = exchange_test(
        logits, x, targets=(level > 0).long(), exchange=ExchangeSettings(what="background", block=64)
    )
    wrong = sum((level > 0)[i] != (level > 0)[j] for i in range(64) for j in range(64)).item() / (64 * 63)
    assert reads_level.exchanged_error == pytest.approx(wrong)
    largest = exchange_test(
        reader(event=1.0),
        x,
        targets=knock + 2,
        error=lambda p, y: (p - y).abs().max(),
        exchange=ExchangeSettings(what="background"),
    )
    assert largest.exchanged_error == pytest.approx(2.0, abs=1e-5)


@pytest.mark.parametrize(
    ("targets", "words"), [(torch.zeros(5), "targets must be"), (torch.full((16,), NAN), "targets")]
)
def test_targets_that_are_none(targets: Tensor, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        exchange_test(
            reader(event=1.0), signals(16), targets=targets, exchange=ExchangeSettings(what="background")
        )


def test_what_is_left_on_the_background_alone() -> None:
    x = signals(512)
    assert exchange_test(
        reader(level=1.0), x, exchange=ExchangeSettings(what="background", trajectories=512)
    ).background_alone == pytest.approx(1.0)
    assert exchange_test(
        reader(event=1.0), x, exchange=ExchangeSettings(what="background", trajectories=512)
    ).background_alone == pytest.approx(0.0, abs=1e-6)
    # Half of the variance is the level's.
    half = exchange_test(
        reader(1.0, 1.0), x, exchange=ExchangeSettings(what="background", trajectories=512)
    ).background_alone
    assert half == pytest.approx(0.5, abs=0.08)
    # What is constant on the backgrounds correlates with nothing.
    assert exchange_test(
        lambda x: read(x)[1] + 3.0, x, exchange=ExchangeSettings(what="background")
    ).background_alone == pytest.approx(0.0, abs=1e-6)


def slow_exchange(function, inputs: Tensor, mask: Tensor | None, kind: str, block: int):
    """Cell by cell, sums by the textbook; blocks of one size."""
    order = rng.generator(0, "exchange").permutation(len(inputs))
    valid = torch.ones(inputs.shape[:2], dtype=torch.bool) if mask is None else mask
    sums, blocks = torch.zeros(3, dtype=torch.float64), len(order) // block
    for start in range(0, len(order), block):
        rows = order[start : start + block]
        grid = torch.zeros(block, block, dtype=torch.float64)
        for a, i in enumerate(rows):
            own = valid[i].nonzero().flatten().tolist()
            transient = split(inputs[i : i + 1, own], kind).transient[0]
            for b, j in enumerate(rows):
                other = valid[j].nonzero().flatten()
                background = split(inputs[j : j + 1, other], kind).background[0]
                made = torch.zeros_like(inputs[i])
                for place, step in enumerate(own):
                    nearest = int((other - step).abs().argmin())
                    made[step] = transient[place] + background[nearest]
                grid[a, b] = function(made[None], *([] if mask is None else [valid[i : i + 1]])).double()
        mean, row, column = grid.mean(), grid.mean(1, keepdim=True), grid.mean(0, keepdim=True)
        sums[0] += block * (row - mean).square().sum()
        sums[1] += block * (column - mean).square().sum()
        sums[2] += (grid - row - column + mean).square().sum()
    interaction = sums[2] / (blocks * (block - 1) ** 2)
    main = [
        max((part / (blocks * (block - 1)) - interaction) / block, torch.tensor(0.0)) for part in sums[:2]
    ]
    parts = torch.stack([*main, interaction])
    return (parts / parts.sum()).tolist()


def wave(inputs: Tensor, mask: Tensor | None = None) -> Tensor:
    """Reads everything, not linearly."""
    values = (inputs.double() * torch.linspace(0.1, 2.0, inputs.shape[1])[:, None]).tanh().square()
    return values.sum((1, 2)) if mask is None else (values.sum(2) * mask).sum(1) / mask.sum(1)


@pytest.mark.parametrize("kind", ["level", "slow", "core"])
def test_it_is_the_slow_double_loop(kind: str) -> None:
    x = signals(12, channels=2) + 0.3 * torch.randn(12, STEPS, 2)
    found = exchange_test(
        wave, x, exchange=ExchangeSettings(what="background", kind=kind, block=4, batch_size=7)
    )
    assert shares(found) == pytest.approx(slow_exchange(wave, x, None, kind, 4), abs=1e-5)


def test_with_lengths_that_differ_it_is_the_slow_double_loop() -> None:
    x = signals(8, channels=2) + 0.3 * torch.randn(8, STEPS, 2)
    mask = torch.arange(STEPS) < torch.tensor([96, 50, 70, 96, 60, 55, 90, 47])[:, None]
    mask[3, :9] = False
    dirty = x.masked_fill(~mask.unsqueeze(-1), NAN)
    found = exchange_test(
        wave, dirty, exchange=ExchangeSettings(what="background", kind="level", block=4), mask=mask
    )
    assert shares(found) == pytest.approx(slow_exchange(wave, x, mask, "level", 4), abs=1e-5)


def test_a_mask_is_the_same_as_cutting() -> None:
    x, keep = signals(24, channels=2), 70
    padded = x.clone()
    padded[:, keep:] = NAN
    mask = (torch.arange(STEPS) < keep).expand(24, STEPS)
    cut = exchange_test(wave, x[:, :keep], exchange=ExchangeSettings(what="background", block=8))
    with_mask = exchange_test(
        lambda x, mask: wave(x[:, :keep]),
        padded,
        mask=mask,
        exchange=ExchangeSettings(what="background", block=8),
    )
    # The wave's weights are those of the cut length in both.
    assert shares(with_mask) == pytest.approx(shares(cut), abs=1e-5)
    assert with_mask.background_alone == pytest.approx(cut.background_alone, abs=1e-5)
    assert with_mask.transient_interval == pytest.approx(cut.transient_interval, abs=1e-4)


def test_integer_masks_are_masks() -> None:
    x, mask = signals(6), torch.ones(6, STEPS, dtype=torch.int64)
    mask[:, 80:] = 0
    assert exchange_test(wave, x, mask=mask, exchange=ExchangeSettings(what="background")) == exchange_test(
        wave, x, mask=mask.bool(), exchange=ExchangeSettings(what="background")
    )


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 100.0), (-3.0, 0.0), (1e-6, 1.0), (1e6, -5.0)])
def test_neither_unit_nor_zero_of_the_prediction_matters(scale: float, shift: float) -> None:
    x, function = signals(48).double(), reader(2.0, 1.0, 0.5)
    plain, changed = (
        exchange_test(function, x, exchange=ExchangeSettings(what="background")),
        exchange_test(lambda x: scale * function(x) + shift, x, exchange=ExchangeSettings(what="background")),
    )
    assert shares(changed) == pytest.approx(shares(plain), abs=1e-6)
    assert changed.background_alone == pytest.approx(plain.background_alone, abs=1e-6)
    assert changed.background_interval == pytest.approx(plain.background_interval, abs=1e-6)


def test_the_order_of_trajectories_in_one_block_does_not_matter() -> None:
    x = signals(12)
    found, shuffled = (
        exchange_test(reader(2.0, 1.0, 0.5), rows, exchange=ExchangeSettings(what="background"))
        for rows in (x, x[torch.randperm(12)])
    )
    assert shares(shuffled) == pytest.approx(shares(found), abs=1e-6)


def test_the_seed_decides_and_batches_do_not() -> None:
    x, function = signals(200), reader(2.0, 1.0, 0.5)
    found = exchange_test(function, x, exchange=ExchangeSettings(what="background", trajectories=32))
    assert found == exchange_test(function, x, exchange=ExchangeSettings(what="background", trajectories=32))
    assert shares(found) == pytest.approx(
        shares(
            exchange_test(
                function, x, exchange=ExchangeSettings(what="background", trajectories=32, batch_size=11)
            )
        ),
        abs=1e-6,
    )
    assert (
        found.transient
        != exchange_test(
            function, x, exchange=ExchangeSettings(what="background", trajectories=32, seed=1)
        ).transient
    )
    assert found.trajectories == 32


@pytest.mark.parametrize(("count", "block", "asked"), [(32, 16, 512), (20, 16, 200), (3, 2, 9), (2, 16, 4)])
def test_how_many_predictions_it_takes(count: int, block: int, asked: int) -> None:
    """Blocks are as equal as they can be, and none has one trajectory; the backgrounds alone come on top."""
    seen = []

    def watched(x: Tensor) -> Tensor:
        seen.append(len(x))
        assert not torch.is_grad_enabled()
        return x.sum((1, 2))

    exchange_test(
        watched,
        signals(count).requires_grad_(),
        exchange=ExchangeSettings(what="background", block=block, batch_size=5),
    )
    # Each as it is and each background alone; then five nuisances with one donor each, and all that is declared with up to six.
    # Before that the first of them for predictions that repeat: twice as they are, in batches of other rows and sizes, and alone.
    sizes = {3, 4, min(count, 5)}
    others = sum(max(2 if count <= 5 else 1, math.ceil(count / size)) * size for size in sizes)
    repeated = 2 * count + others + min(count, 8)
    assert sum(seen) == asked + repeated + count * (2 + 5 + min(DONORS, count - 1))
    assert max(seen) <= 5


def test_logits_count_without_what_all_classes_share() -> None:
    x = signals(128)

    def logits(inputs: Tensor) -> Tensor:
        level, knock = read(inputs)
        # The level moves all classes alike, which changes no probability.
        return torch.stack([knock, -knock, 0 * knock], 1) + 50 * level[:, None]

    found = exchange_test(logits, x, exchange=ExchangeSettings(what="background"))
    assert found.transient == pytest.approx(1.0, abs=1e-4)
    assert not exchange_test(
        lambda x: read(x)[0][:, None].expand(-1, 3), x, exchange=ExchangeSettings(what="background")
    ).varies


def test_outputs_add_up_their_variance() -> None:
    def two(inputs: Tensor) -> Tensor:
        level, knock = read(inputs)
        return torch.stack([knock, -knock, 2 * level, -2 * level], 1)

    found = exchange_test(two, signals(512), exchange=ExchangeSettings(what="background", trajectories=512))
    assert shares(found) == pytest.approx((0.2, 0.8, 0.0), abs=0.04)


def test_a_column_is_one_number_each() -> None:
    x, function = signals(20), reader(2.0, 1.0)
    assert exchange_test(
        lambda x: function(x)[:, None], x, exchange=ExchangeSettings(what="background")
    ) == exchange_test(function, x, exchange=ExchangeSettings(what="background"))


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_constant_follows_nothing(value: float) -> None:
    found = exchange_test(
        lambda x: torch.full((len(x),), value), signals(20), exchange=ExchangeSettings(what="background")
    )
    assert not found.varies
    assert all(math.isnan(share) for share in shares(found))
    assert all(math.isnan(end) for end in found.transient_interval)
    assert found.background_alone == 0.0
    assert "the prediction does not vary" in repr(found)


def test_rounding_noise_is_no_variance() -> None:
    found = exchange_test(
        lambda x: 1000.0 + 1e-8 * x.sum((1, 2)), signals(20), exchange=ExchangeSettings(what="background")
    )
    assert not found.varies


def test_a_module_is_asked_in_evaluation_mode_and_left_as_it_was() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.dropout = nn.BatchNorm1d(1), nn.Dropout(0.5)

        def forward(self, x: Tensor) -> Tensor:
            return self.dropout(self.norm(x.amax(1)))

    network = Net()
    network.norm.eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    found = exchange_test(network, signals(20), exchange=ExchangeSettings(what="background"))
    assert found == exchange_test(network.eval(), signals(20), exchange=ExchangeSettings(what="background"))
    network.train()
    network.norm.eval()
    exchange_test(network, signals(20), exchange=ExchangeSettings(what="background"))
    assert (network.training, network.norm.training, network.dropout.training) == (True, False, True)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_a_network_that_nobody_here_designed() -> None:
    network, x = Stranger(), signals(20, channels=2)
    mask = torch.arange(STEPS) < torch.randint(50, STEPS, (20, 1))
    with evaluating(network):
        found = exchange_test(
            lambda x, mask: network.answers(x, ~mask),
            x,
            mask=mask,
            exchange=ExchangeSettings(what="background"),
        )
    assert sum(shares(found)) == pytest.approx(1.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_function_gets_the_inputs_own_dtype(dtype: torch.dtype) -> None:
    x = signals(24)

    def function(inputs: Tensor) -> Tensor:
        assert inputs.dtype == dtype
        return reader(1.0, 1.0)(inputs)

    found = exchange_test(function, x.to(dtype), exchange=ExchangeSettings(what="background"))
    assert shares(found) == pytest.approx(
        shares(exchange_test(reader(1.0, 1.0), x, exchange=ExchangeSettings(what="background"))), abs=0.03
    )


@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.parametrize("kind", ["level", "slow", "core", "slow+level"])
def test_windows_shorter_than_the_filter(kind: str, steps: int) -> None:
    found = exchange_test(
        lambda x: x.sum((1, 2)),
        torch.randn(6, steps, 1),
        exchange=ExchangeSettings(what="background", kind=kind),
    )
    assert sum(shares(found)) == pytest.approx(1.0)


def test_it_prints_shares_and_intervals() -> None:
    text = repr(exchange_test(reader(event=1.0), signals(20), exchange=ExchangeSettings(what="background")))
    assert text.splitlines()[0] == "Exchange of 20 trajectories, background: core"
    assert text.splitlines()[2] == "  transient    1.000   1.000 to 1.000"
    assert text.splitlines()[5].endswith("background alone: 0.000")
    assert text.splitlines()[-1] == "  * declared: the prediction must not depend on it"


def test_it_is_a_public_name() -> None:
    assert crest.exchange_test is exchange_test
    assert crest.Exchange is Exchange


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"inputs": torch.zeros(1, 9, 1)},
            "^inputs must hold two trajectories or more: one has nothing to exchange",
        ),
        ({"inputs": torch.zeros(4, 9)}, r"^inputs must be signals, got \(4, 9\), which looks like a table"),
        ({"inputs": torch.zeros(4, 9, 1, 1)}, r"^inputs must have shape \(N, T, C\)"),
        ({"inputs": torch.zeros(4, 9, 1).long()}, "^inputs must be a floating point tensor"),
        ({"inputs": torch.full((4, 9, 1), NAN)}, "^inputs must be finite"),
        ({"mask": torch.ones(4, 8).bool()}, r"^mask must have shape \(B, T\) = \(4, 9\)"),
        ({"mask": torch.ones(4, 9)}, "^mask must hold booleans"),
        (
            {"mask": torch.tensor([1, 1, 0, 1])[:, None].expand(4, 9)},
            "^mask must leave a valid step in each trajectory, got none in trajectory 2",
        ),
        ({"function": lambda x: x}, r"^function must return real numbers of shape \(B,\).* got \(8, 9, 1\)"),
        ({"function": lambda x: x.sum()}, "^function must return a tensor with a row for each"),
        (
            {"function": lambda x: 1.0},
            "^function must return a tensor with a row for each of the .* got float",
        ),
        (
            {"function": lambda x: x.sum((1, 2)) * NAN},
            "^the function's predictions must be finite",
        ),
        ({"function": lambda x: x.sum(1) * 1j}, "^function must return real numbers"),
    ],
)
def test_messages(changes: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"inputs": torch.randn(8, 9, 1)} | changes
    if "mask" in changes:
        arguments["inputs"] = torch.randn(4, 9, 1)
    function = arguments.pop("function", lambda x, mask=None: x.sum((1, 2)))
    with pytest.raises(ValueError, match=message):
        exchange_test(function, arguments.pop("inputs"), **arguments)


@pytest.mark.unchecked
def test_the_function_must_be_one() -> None:
    with pytest.raises(
        ValueError, match=r"^function must be a torch module, a function, or an object with predict, got str"
    ):
        exchange_test("model", torch.zeros(4, 20, 1), exchange=ExchangeSettings(what="background"))


def test_a_reader_of_waves_is_told_where_whole_backgrounds_do_not_fit() -> None:
    """Events at the crest of a wave: on another's wave they are off their place, and the reader of the event looks like one of
    the background; with the spectrum alone exchanged it does not, and the reader of the wave's size still does."""
    generator = torch.Generator().manual_seed(0)
    time = torch.arange(256) / 256
    size, knock = 1 + torch.rand(2, 64, generator=generator)
    phase = 2 * torch.pi * torch.rand(64, 1, generator=generator)
    waves = torch.cos(2 * torch.pi * 4 * time + phase)
    x = size[:, None] * waves
    place = waves[:, 64:192].argmax(1) + 64
    for row, at in enumerate(place.tolist()):
        x[row, at - 1 : at + 2] += knock[row]
    x = x[..., None]

    def at_the_crest(x: torch.Tensor) -> torch.Tensor:
        """The knock above the largest wave of the first quarter, which reads both parts together."""
        return x[:, 64:192, 0].amax(1) - x[:, :64, 0].amax(1)

    whole = exchange_test(at_the_crest, x, exchange=ExchangeSettings(what="background"))
    spectra = exchange_test(at_the_crest, x, exchange=ExchangeSettings(what="spectrum"))
    assert whole.transient < 0.8 < spectra.transient
    assert (whole.what, spectra.what) == ("background", "spectrum")
    assert "spectra alone" in repr(spectra)
    assert (
        exchange_test(lambda x: x.std((1, 2)), x, exchange=ExchangeSettings(what="spectrum")).background > 0.7
    )


def test_predictions_for_single_trajectories_are_in_their_order() -> None:
    x = signals(24)
    settings = ExchangeSettings(trajectories=16, block=4, bootstrap=20)
    event, level = (
        exchange_test(function, x, targets=read(x)[0], exchange=settings).predictions
        for function in (reader(event=1.0), lambda x: x[:, :20].mean((1, 2)))
    )
    assert event is not None
    assert level is not None
    torch.testing.assert_close(event.own, reader(event=1.0)(x[event.rows]))
    torch.testing.assert_close(event.targets, read(x)[0][event.rows])
    # Who reads the event predicts the same; who reads the level predicts that of another, each of which comes once.
    torch.testing.assert_close(event.exchanged, event.own, atol=0.1, rtol=0)
    assert bool((level.exchanged != level.own).all())
    torch.testing.assert_close(
        level.exchanged.sort().values, level.own.sort().values, atol=0.1 * float(level.own.std()), rtol=0
    )
    assert exchange_test(reader(1.0), x, exchange=ExchangeSettings(invariant=())).predictions is None


def test_attributes_of_a_users_function_silence_no_warning() -> None:
    def reader(x: Tensor) -> Tensor:
        return x.mean((1, 2))

    reader.called = "mine"  # type: ignore[attr-defined]
    for function in (reader, unittest.mock.Mock(reader, side_effect=reader)):
        with pytest.warns(UserWarning, match=r"^channels_first=False makes 3 steps of 200 channels"):
            assert exchange_test(function, torch.randn(8, 3, 200)).varies
