"""Options of the optimiser on a linear layer, beside PyTorch's rules in double precision."""
import numpy as np
import onnxruntime
import pytest
from onnx import helper

from linear import BIAS, RATE, WEIGHT, read_tensors, save_model
from test_errors import fails

STEPS = 5


def sgd(layer, rate=RATE, decay=0.0, momentum=0.0, dampening=0.0, nesterov=False, clip=lambda gradient: gradient):
    """torch.optim.SGD; rate and decay: also arrays, of each parameter."""
    p, velocity = layer.start, None
    for _ in range(STEPS):
        d = clip(layer.gradient(p)) + decay * p
        velocity = d if velocity is None else momentum * velocity + (1 - dampening) * d
        p = p - rate * (d + momentum * velocity if nesterov else velocity)
    return p


def by_value(bound):
    """torch.nn.utils.clip_grad_value_"""
    return lambda gradient: np.clip(gradient, -bound, bound)


def by_norm(bound):
    """torch.nn.utils.clip_grad_norm_ over all parameters together"""
    return lambda gradient: gradient * min(1, bound / (np.linalg.norm(gradient) + 1e-6))


@pytest.mark.parametrize("options, rules", (
    (("--momentum", 0.9), {"momentum": 0.9}),
    (("--momentum", 0.9, "--nesterov"), {"momentum": 0.9, "nesterov": True}),
    (("--momentum", 0.8, "--dampening", 0.3), {"momentum": 0.8, "dampening": 0.3}),
    (("--weight-decay", 0.4), {"decay": 0.4}),
    (("--weight-decay", 0.4, "--decay-weights-only"), {"decay": 0.4 * WEIGHT}),
    (("--weight-decay", 0.4, "--weight-decay-of", "*.bias=0.9"), {"decay": 0.4 * WEIGHT + 0.9 * BIAS}),
    (("--weight-decay-of", "layer.w*=0.7"), {"decay": 0.7 * WEIGHT}),
    (("--lr-of", "*.bias=0.25"), {"rate": RATE * (WEIGHT + 0.25 * BIAS)}),
    (("--lr-of", "layer.weight=0", "--lr-of", "*.bias=2"), {"rate": RATE * 2 * BIAS}),
    (("--lr-of", "layer.*=0.5", "--weight-decay-of", "*t=0.7", "--momentum", 0.5),
     {"rate": RATE / 2, "decay": 0.7 * WEIGHT, "momentum": 0.5}),
    (("--clip-value", 0.3), {"clip": by_value(0.3)}),
    (("--clip-norm", 0.5), {"clip": by_norm(0.5)}),
    (("--clip-norm", 0.5, "--momentum", 0.9, "--weight-decay", 0.4),
     {"clip": by_norm(0.5), "momentum": 0.9, "decay": 0.4}),
    (("--clip-norm", 0.8, "--clip-value", 0.3), {"clip": lambda g: by_value(0.3)(by_norm(0.8)(g))}),
))
def test_as_in_torch(layer, options, rules):
    expected = sgd(layer, **rules)
    assert np.abs(expected - sgd(layer)).max() > 0.01  # the options matter
    assert layer.train(*options) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("options, clip", ((("--clip-value", 0.3), by_value(0.3)), (("--clip-norm", 0.5), by_norm(0.5))))
def test_accumulated_gradients_are_clipped_as_their_mean(layer, options, clip):
    assert layer.train("--accumulate", 4, "--batch", 2, *options) == pytest.approx(sgd(layer, clip=clip), abs=2e-6)


def test_decoupled_decay_by_name(layer):
    """The first step of AdamW is (1 - rate decay) w - rate sign(g), each with the rate of its parameter."""
    trained = layer.train("--optimiser", "adamw", "--epochs", 1, "--weight-decay-of", "*.weight=0.5", "--lr-of", "*.bias=3")
    rate, decay = RATE * (WEIGHT + 3 * BIAS), 0.5 * WEIGHT
    assert trained == pytest.approx((1 - rate * decay) * layer.start - rate * np.sign(layer.gradient(layer.start)), abs=1e-6)


def test_only_weights_decay(arbalest):
    """Inputs of zeros leave the weights without a gradient, and the targets are the model's outputs: nothing but decay."""
    random = np.random.default_rng(3)
    tensors = {name: random.uniform(1, 2, shape).astype(np.float32)
               for name, shape in (("w", (4, 6)), ("b", (6,)), ("scale", (6,)), ("shift", (6,)))}
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("LayerNormalization", ["h", "scale", "shift"], ["y"])]
    save_model(arbalest.folder / "norm.onnx", nodes, {"x": [4]}, {"y": [6]}, tensors)
    x = np.zeros((8, 4), np.float32)
    y, = onnxruntime.InferenceSession(arbalest.folder / "norm.onnx").run(None, {"x": x})
    np.savez(arbalest.folder / "zeros.npz", x_train=x, y_train=y, x_test=x, y_test=y)

    def trained(*options):
        arbalest("train", "norm.onnx", "--data", "zeros.npz", "--no-normalise", "--learners", 1, "--batch", 8, "--epochs", STEPS,
                 "--lr", RATE, "--momentum", 0, "--weight-decay", 0.5, "-o", "out.onnx", *options)
        return read_tensors(arbalest.folder / "out.onnx")

    kept, shrunk = trained("--decay-weights-only"), trained()
    factor = (1 - RATE * 0.5) ** STEPS
    assert kept["w"] == pytest.approx(tensors["w"] * factor, rel=1e-6)
    for name in ("b", "scale", "shift"):
        assert kept[name] == pytest.approx(tensors[name], abs=1e-5)
        assert np.all(shrunk[name] < tensors[name] - 0.05)


def test_patterns_that_match_nothing_are_refused(arbalest, layer):
    train = ("train", "linear.onnx", "--data", "linear.npz", "--no-normalise", "--learners", 1, "-o", "out.onnx")
    for option in ("--lr-of", "--weight-decay-of"):
        message = fails(arbalest, *train, option, "*.weight=0.5", option, "head.*=0.5", code=2)
        assert option in message and "head.*" in message
        assert option in fails(arbalest, *train, option, "layer.weight", code=2)
        assert option in fails(arbalest, *train, option, "layer.weight=much", code=2)
    assert not (arbalest.folder / "out.onnx").exists()


@pytest.mark.parametrize("options", (
    ("--lr-of", "*.weight=0.5"), ("--weight-decay-of", "*.weight=0.5"), ("--schedule", "multi-step", "--milestones", "2,3"),
    ("--loss", "ce", "--class-weights", "1,2")))
def test_a_list_does_not_take_the_model_that_follows_it(arbalest, layer, options):
    y = np.arange(8) % 2 if "ce" in options else layer.y
    np.savez(arbalest.folder / "some.npz", x_train=layer.x, y_train=y, x_test=layer.x, y_test=y)
    assert "out.onnx" in arbalest("train", *options, "linear.onnx", "--data", "some.npz", "--learners", 1, "-o", "out.onnx")
