import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import crest
from crest.lab.model import make_model
from crest.readouts import CrestReadout
from crest.remedies.reanchoring import CANDIDATE_BUDGETS, PENALTIES
from crest.remedies.ridge import fit_ridge
from pooled_in_a_line import Overwriting, Strided, made


class Net(nn.Module):
    """Encoder, pooling, head; the mask goes to the pooling."""

    def __init__(self, outputs: int = 1, width: int = 6) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2, width), nn.Tanh())
        self.pool = crest.MeanReadout()
        self.head = nn.Linear(width, outputs)
        self.runs = 0

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        self.runs += 1
        return self.head(self.pool(self.encoder(x), mask))


def net(outputs: int = 1, seed: int = 1000, **options: Any) -> Net:
    torch.manual_seed(seed)
    return Net(outputs, **options)


def data(rows: int = 40, steps: int = 120, seed: int = 1000) -> tuple[Tensor, Tensor]:
    """Bursts decide the label; the level follows it."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.rand(rows, generator=generator)
    x = 0.05 * torch.randn(rows, steps, 2, generator=generator)
    x[:, 50:56, 0] += y.unsqueeze(1)
    x[..., 1] += y.unsqueeze(1) + 0.1 * torch.randn(rows, 1, generator=generator)
    return x, y


def batches(*tensors: Tensor, size: int = 16) -> list[tuple[Tensor, ...]]:
    return list(zip(*(tensor.split(size) for tensor in tensors), strict=True))


def reanchored(model: nn.Module, given: Any, **options: Any) -> crest.Reanchored:
    return crest.reanchor(model, given, **{"pooling": "pool", "head": "head", **options})


# -- what it does


def test_it_is_the_ridge_on_the_pooled_vectors_of_the_best_budget() -> None:
    model, (x, y) = net(), data()
    before = copy.deepcopy(model)
    found = reanchored(model, batches(x, y))
    features = before.encoder(x).detach()
    errors = []
    for budget in CANDIDATE_BUDGETS:
        readout = CrestReadout(budget).eval()
        if budget == "pooled":
            readout.calibrate([features])
        fit = fit_ridge(readout(features), y.unsqueeze(1), PENALTIES)
        errors.append(fit.error)
        if budget == found.budget:
            assert found.penalty == fit.penalty
            expected = readout(features) @ fit.weight.T.float() + fit.bias.float()
    torch.testing.assert_close(model.eval()(x), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close([row.error for row in found.tried], errors, rtol=1e-4, atol=1e-6)
    assert found.error == min(row.error for row in found.tried)
    assert [row.budget for row in found.tried] == list(CANDIDATE_BUDGETS)
    assert found.before == pytest.approx(
        float((before(x).detach()[:, 0] - y).square().mean().sqrt()), rel=1e-5
    )
    assert found.trajectories == 40
    assert found.accuracy is None
    # The encoder stays.
    for one, other in zip(model.encoder.parameters(), before.encoder.parameters(), strict=True):
        assert torch.equal(one, other)
    assert isinstance(model.pool.readout, CrestReadout)


def test_the_error_is_that_of_fitting_without_each_trajectory() -> None:
    x, y = data(10)
    model = net()
    found = reanchored(model, [(x, y)], budgets=(0.1,), penalties=(0.01,))
    vectors = model.pool(model.encoder(x)).detach().double()
    scale = vectors.std(0, correction=0)
    errors = []
    for row in range(10):
        others = torch.arange(10) != row
        standard = vectors / scale
        design = standard[others] - standard[others].mean(0)
        gram = design.T @ design + 10 * 0.01 * torch.eye(6, dtype=torch.float64)
        weight = torch.linalg.solve(gram, design.T @ (y[others].double() - y[others].double().mean()))
        answer = (standard[row] - standard[others].mean(0)) @ weight + y[others].double().mean()
        errors.append(float(answer - y[row]))
    assert found.error == pytest.approx(float(torch.tensor(errors).square().mean().sqrt()), rel=1e-5)


def test_the_encoder_runs_twice_at_most() -> None:
    x, y = data()
    for options, expected in (({}, 2 * 3), ({"budgets": ("trajectory", 0.1), "run_up": 0}, 3)):
        runs: list[int] = []
        model = net()
        model.register_forward_hook(lambda *_, runs=runs: runs.append(1))
        reanchored(model, batches(x, y), **options)
        assert len(runs) == expected
        # What the model counts itself is put back.
        assert model.runs == 0


def test_the_batches_are_read_twice_and_not_begun_for_nothing() -> None:
    class Counted(list[Any]):
        begun = 0

        def __iter__(self) -> Any:
            self.begun += 1
            return super().__iter__()

    given = Counted(batches(*data()))
    reanchored(net(), given)
    assert given.begun == 2


def test_every_budget_learns_the_run_up() -> None:
    x, y = data()
    x[:, :6] += 3.0 * torch.exp(-torch.arange(6.0)).unsqueeze(1)
    model = net()
    reanchored(model, batches(x, y), budgets=(0.1,))
    readout = CrestReadout(0.1).calibrate(model.encoder(part).detach() for part, _ in batches(x, y))
    features = model.encoder(x).detach()
    assert int(readout.eval().select(features).run_up[0]) > 0
    assert torch.equal(model.pool.readout.select(features).run_up, readout.select(features).run_up)
    assert model.pool.readout.state_dict().keys() == readout.state_dict().keys()


def test_a_shuffled_loader_gives_the_same() -> None:
    x, y = data()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=7, shuffle=True)
    one, other = reanchored(net(), loader), reanchored(net(), [(x, y)])
    assert one.error == pytest.approx(other.error, rel=1e-4)
    assert one.budget == other.budget


def test_the_pooled_budget_is_calibrated_on_the_batches() -> None:
    x, y = data()
    model = net()
    reanchored(model, batches(x, y), budgets=("pooled",))
    expected = CrestReadout().calibrate([model.encoder(x).detach()])
    torch.testing.assert_close(model.pool.readout.running.width, expected.running.width)
    torch.testing.assert_close(model.pool.readout.running.tail, expected.running.tail)


def test_options_reach_the_readout() -> None:
    x, y = data()
    model = net()
    config = crest.CrestConfig(sigma=3.0)
    reanchored(model, [(x, y)], config=config, alpha=1.0, stride=2)
    readout = model.pool.readout
    assert (readout.config, readout.alpha, readout.stride) == (config, 1.0, 2)


@pytest.mark.slow
def test_it_reads_the_burst_where_the_mean_read_the_level() -> None:
    """A trained encoder: the level is as good as the label in training and says nothing afterwards."""
    x, y = data(200)
    model = net(width=16)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(300):
        optimiser.zero_grad()
        (model(x)[:, 0] - y).square().mean().backward()
        optimiser.step()
    fresh, label = data(200, seed=1001)
    fresh[..., 1] += (label[torch.randperm(200)] - label).unsqueeze(1)

    def error() -> float:
        with torch.no_grad():
            return float((model.eval()(fresh)[:, 0] - label).square().mean().sqrt())

    before = error()
    reanchored(model, batches(x, y))
    assert error() < 0.6 * before


# -- targets


def test_several_outputs() -> None:
    x, y = data()
    targets = torch.stack([y, -2 * y + 1, y.square()], 1)
    model = net(3)
    found = reanchored(model, batches(x, targets))
    assert model.head.weight.shape == (3, 6)
    answers = model.eval()(x).detach()
    assert float((answers - targets).square().mean().sqrt()) < found.error < found.before


@pytest.mark.parametrize("form", ["(N,)", "(N, 1)"])
def test_class_labels_are_fitted_in_their_one_hot_form(form: str) -> None:
    x, y = data(60)
    labels = (y * 3).long().clamp(max=2)
    given = labels if form == "(N,)" else labels.unsqueeze(1)
    model = net(4)
    before = float((model(x).argmax(1) == labels).float().mean())
    found = reanchored(model, batches(x, given), budgets=(0.1,))
    vectors = model.pool(model.encoder(x)).detach()
    fit = fit_ridge(vectors, nn.functional.one_hot(labels, 4).double(), PENALTIES)
    assert found.error == pytest.approx(fit.error, rel=1e-4)
    assert found.accuracy == pytest.approx(float((fit.left_out.argmax(1) == labels).float().mean()))
    assert found.accuracy > 0.7
    assert found.before is None
    assert found.accuracy_before == pytest.approx(before)
    assert "accuracy" in repr(found)


def test_whole_numbers_with_one_output_are_numbers() -> None:
    x, y = data()
    found = reanchored(net(), batches(x, (10 * y).long()))
    assert found.accuracy is None
    assert found.before > 1


def test_targets_are_checked() -> None:
    x, y = data()
    dirty = y.clone()
    dirty[3] = float("nan")
    with pytest.raises(ValueError, match=r"^targets must be finite, got 1 NaN or infinite values"):
        reanchored(net(), batches(x, dirty))
    with pytest.raises(ValueError, match=r"^targets must have shape \(N, K\) = \(40, 3\)"):
        reanchored(net(3), batches(x, y))
    with pytest.raises(ValueError, match=r"^targets must be class labels from 0 to 1, .* got 0 to 9"):
        reanchored(net(2), batches(x, (10 * y).long()))
    with pytest.raises(
        ValueError, match=r"^targets of batches must have a row for each of 40 trajectories, got "
    ):
        reanchored(net(), [(x, y[:39])])


# -- models


def test_a_model_of_the_lab() -> None:
    x, y = data()
    model = make_model("pointwise", "attention", channels=2, seed=1000)
    found = crest.reanchor(model, batches(x, y), pooling="readout", head="head")
    answer = model.eval()(x).detach()
    assert answer.shape == (40,)
    assert float((answer - y).square().mean().sqrt()) < found.before


def test_a_convolution_with_an_adaptive_pool() -> None:
    x, y = data()
    torch.manual_seed(1000)
    model = nn.Sequential(
        nn.Conv1d(2, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Dropout(), nn.Linear(8, 1)
    )
    found = crest.reanchor(model, batches(x.transpose(1, 2), y), pooling="2", head="5")
    assert (model[2].layout, model[2].keepdim) == ("channels_first", True)
    assert model.training
    answer = model.eval()(x.transpose(1, 2)).detach()[:, 0]
    assert float((answer - y).square().mean().sqrt()) < found.error * 1.01


def test_a_second_time_finds_the_same() -> None:
    x, y = data()
    model = net()
    first = reanchored(model, batches(x, y))
    second = reanchored(model, batches(x, y))
    assert second.chosen == first.chosen
    assert second.before <= first.error


def test_padding_changes_nothing() -> None:
    x, y = data(steps=120)
    padded = torch.cat([x, torch.full((40, 30, 2), 99.0)], 1)
    mask = torch.arange(150).expand(40, 150) < 120
    plain, masked = net(), net()
    one, other = reanchored(plain, batches(x, y)), reanchored(masked, batches(padded, y, mask))
    assert one.error == pytest.approx(other.error, rel=1e-3)
    assert one.before == pytest.approx(other.before, rel=1e-5)
    torch.testing.assert_close(masked.eval()(padded, mask), plain.eval()(x), rtol=1e-3, atol=1e-3)


def test_double_and_half_precision() -> None:
    x, y = data()
    model = net().double()
    found = reanchored(model, batches(x.double(), y.double()))
    assert model.head.weight.dtype == torch.float64
    half = net().bfloat16()
    coarse = reanchored(half, batches(x.bfloat16(), y.bfloat16()))
    assert half.eval()(x.bfloat16()).dtype == torch.bfloat16
    assert coarse.error == pytest.approx(found.error, rel=0.3)


def test_constant_channels_and_fewer_trajectories_than_channels() -> None:
    x, y = data(5)
    model = net(width=32)
    with torch.no_grad():
        model.encoder[0].weight[:4] = 0
    found = reanchored(model, [(x, y)])
    # What rounding leaves of a constant channel in the contrast is taken for constant.
    assert model.head.weight.isfinite().all()
    assert found.error < 2 * float(y.std())
    torch.testing.assert_close(model.eval()(x)[:, 0], y, rtol=0, atol=2 * found.error)


def test_features_that_are_constant_give_the_mean() -> None:
    x, y = data(6)
    model = net()
    with torch.no_grad():
        model.encoder[0].weight.zero_()
    reanchored(model, [(x, y)])
    torch.testing.assert_close(model.eval()(x)[:, 0], y.mean().expand(6))


def test_two_trajectories_are_enough_and_one_is_not() -> None:
    x, y = data(2)
    found = reanchored(net(), [(x, y)])
    assert found.error == pytest.approx(float((y[0] - y[1]).abs()), rel=1e-4)
    with pytest.raises(
        ValueError, match=r"^batches must hold at least two trajectories, which leave-one-out needs, got 1"
    ):
        reanchored(net(), [(x[:1], y[:1])])


# -- what is refused leaves the model as it was


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "poool"}, "^pooling must name a module inside the model, such as pool; got 'poool'"),
        ({"head": "encoder"}, "^head must name a torch.nn.Linear with a bias, got 'encoder': Sequential"),
        ({"budgets": ()}, r"^budgets must be a list or a tuple of values to choose from, got \(\)"),
        ({"penalties": ()}, r"^penalties must be a list or a tuple of values to choose from, got \(\)"),
        ({"penalties": (0.1, 0.0)}, "^penalties must be positive, got 0.0"),
        ({"budgets": (1.5,)}, "^budget must be 'pooled', 'trajectory' or a number"),
        ({"layout": "channels_first"}, "^layout and keepdim must fit the layer 'pool'"),
    ],
)
def test_options_are_checked_by_name(options: dict[str, Any], message: str) -> None:
    model, (x, y) = net(), data()
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(ValueError, match=message):
        reanchored(model, batches(x, y), **options)
    assert isinstance(model.pool, crest.MeanReadout)
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_models_and_batches_that_do_not_fit_are_refused() -> None:
    x, y = data()
    model = net()
    model.head = nn.Linear(6, 1, bias=False)
    with pytest.raises(
        ValueError, match=r"^head must name a torch.nn.Linear with a bias, got 'head': one without"
    ):
        reanchored(model, batches(x, y))
    with pytest.raises(ValueError, match=r"^batches must be a list or a DataLoader, .* got an iterator"):
        reanchored(net(), iter(batches(x, y)))
    with pytest.raises(ValueError, match=r"^batches must hold \(inputs, targets\), .* got no targets"):
        reanchored(net(), x)
    with pytest.raises(ValueError, match=r"^batches must hold at least"):
        reanchored(net(), [])
    squashed = nn.Sequential(nn.Linear(2, 4), crest.MeanReadout(), nn.Linear(4, 1), nn.Sigmoid())
    with pytest.raises(ValueError, match=r"^head must give the model's prediction"):
        crest.reanchor(squashed, batches(x, y), pooling="1", head="2")


@pytest.mark.parametrize("inplace", [False, True])
def test_layers_around_the_head_are_refused_also_where_they_work_in_place(inplace: bool) -> None:
    x, y = data()
    rectified = nn.Sequential(nn.Linear(2, 4), crest.MeanReadout(), nn.ReLU(inplace=inplace), nn.Linear(4, 1))
    with pytest.raises(ValueError, match=r"^head must read the pooled vector as it is"):
        crest.reanchor(rectified, batches(x, y), pooling="1", head="3")
    answers = nn.Sequential(nn.Linear(2, 4), crest.MeanReadout(), nn.Linear(4, 1), nn.ReLU(inplace=inplace))
    answers[2].bias.data.fill_(-1.0)
    with pytest.raises(ValueError, match=r"^head must give the model's prediction"):
        crest.reanchor(answers, batches(x, y), pooling="1", head="2")


def test_features_that_the_model_overwrites_later_were_caught_before() -> None:
    class Overwriting(Net):
        def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            features = self.encoder(x)
            answers = self.head(self.pool(features, mask))
            features.zero_()
            return answers

    x, y = data()
    torch.manual_seed(1000)
    assert reanchored(Overwriting(), batches(x, y)).error == reanchored(net(), batches(x, y)).error


@pytest.mark.parametrize("kind", [Strided, Overwriting])
def test_the_head_is_fitted_on_what_the_repaired_model_pools(kind: type[nn.Module]) -> None:
    x, y = data(60)
    model, given = made(kind), x[..., :1].mT
    found = crest.reanchor(model, batches(given, y), pooling="second", head="head", budgets=(0.1,))
    with torch.no_grad():
        error = float((model(given) - y).square().mean().sqrt())
    assert 0.5 * found.error < error < found.error
    assert model.head.crest_implant.interface.activation == "relu"


def test_an_activation_in_place_changes_nothing() -> None:
    x, y = data()
    given = x[..., :1].mT
    found, models = [], [made(kind) for kind in (Strided, Overwriting)]
    for model in models:
        found.append(crest.reanchor(model, batches(given, y), pooling="second", head="head"))
    assert found[0] == found[1]
    assert torch.equal(models[0](given), models[1](given))
    shares = [
        crest.audit(made(kind), (given, y), channels_first=True).core_credit
        for kind in (Strided, Overwriting)
    ]
    assert shares[0] is not None
    assert shares[0] == shares[1]


def test_a_mask_that_the_repaired_model_would_not_know_is_refused() -> None:
    class Unnamed(Net):
        def __init__(self) -> None:
            super().__init__()
            self.pool = nn.Identity()

        def forward(self, x: Tensor, m: Tensor | None = None) -> Tensor:
            return self.head(self.encoder(x).mean(1))

    x, y = data()
    mask = torch.arange(120).expand(40, 120) < 100
    with pytest.raises(ValueError, match=r"^mask of batches must be of torch.bool, .* got torch.float32"):
        reanchored(Unnamed(), batches(x, y, mask.float()), pooling="encoder")
    assert reanchored(Unnamed(), batches(x, y, mask), pooling="encoder").error > 0
