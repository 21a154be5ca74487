"""The learning rate over a run, and what a step of it does to learners, averages and momenta."""
import math

import numpy as np
import pytest
from onnx import helper

from linear import read_tensors, save_model
from test_errors import fails

RATE, EPOCHS = 0.02, 10


class Slope:
    """A model whose loss is its only weight: plain SGD takes the learning rate off it in every step."""

    START = 3.0

    def __init__(self, arbalest):
        self.arbalest = arbalest
        ones = np.ones((8, 1), np.float32)
        save_model(arbalest.folder / "slope.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [1]}, {"y": [1]},
                   {"w": np.full((1, 1), self.START, np.float32)})
        np.savez(arbalest.folder / "ones.npz", x_train=ones, y_train=ones, x_test=ones, y_test=ones)

    def train(self, *options, learners=1, momentum=0, out="out.onnx"):
        """The weight after 10 epochs, and the learning rate of each step; each learner takes 2 of the 8 examples."""
        self.arbalest("train", "slope.onnx", "--data", "ones.npz", "--no-normalise", "--loss", "output", "--learners", learners,
                      "--batch", 2, "--epochs", EPOCHS, "--lr", RATE, "--momentum", momentum, "--log", "log.jsonl",
                      "--log-every", learners / 4, "-o", out, *options)
        steps = self.arbalest.log(kind="progress")
        assert [e["iteration"] for e in steps] == list(range(1, 4 * EPOCHS // learners + 1))
        return float(read_tensors(self.arbalest.folder / out)["w"][0, 0]), [e["learning_rate"] for e in steps]


@pytest.fixture
def slope(arbalest):
    return Slope(arbalest)


def cosine(highest, lowest, part):
    return lowest + (highest - lowest) * (1 + math.cos(math.pi * part)) / 2


def one_cycle(e, total):
    """torch.optim.lr_scheduler.OneCycleLR(max_lr=1), its anneal_strategy "cos" and other defaults, without rounding to steps"""
    rise = 0.3 * total
    return cosine(1 / 25, 1, e / rise) if e < rise else cosine(1, 1 / 25 / 1e4, (e - rise) / (total - rise))


def warm(schedule):
    """Rising from a tenth for two epochs."""
    return lambda e: 0.1 + 0.9 * e / 2 if e < 2 else schedule(e)


@pytest.mark.parametrize("options, factor", (
    ("--schedule constant", lambda e: 1),
    ("--schedule step --step 3 --gamma 0.5", lambda e: 0.5 ** (e // 3)),
    ("--schedule multi-step --milestones 2.5,6 --gamma 0.2", lambda e: 0.2 ** ((e >= 2.5) + (e >= 6))),
    ("--schedule exponential --gamma 0.8", lambda e: 0.8 ** e),
    ("--schedule linear --lr-floor 0.2", lambda e: 1 + (0.2 - 1) * e / 10),
    ("--schedule cosine", lambda e: cosine(1, 0, e / 10)),
    ("--schedule cosine --lr-floor 0.1", lambda e: cosine(1, 0.1, e / 10)),
    ("--schedule one-cycle", lambda e: one_cycle(e, 10)),
    ("--warmup 2", warm(lambda e: 1)),
    ("--schedule step --step 3 --gamma 0.5 --warmup 2", warm(lambda e: 0.5 ** (e // 3))),
    ("--schedule cosine --warmup 2", warm(lambda e: cosine(1, 0, (e - 2) / 8))),
))
def test_rates_are_those_of_the_schedule(slope, options, factor):
    weight, rates = slope.train(*options.split())
    expected = [RATE * factor(step / 4) for step in range(4 * EPOCHS)]
    assert rates == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert slope.START - weight == pytest.approx(sum(expected), rel=1e-5)  # and each was the rate of its step


@pytest.mark.parametrize("learners", (2, 4))
def test_rates_follow_the_examples_seen(slope, learners):
    _, rates = slope.train("--schedule", "exponential", "--gamma", 0.8, "--sync", "ssgd", learners=learners)
    assert rates == pytest.approx([RATE * 0.8 ** (step * learners / 4) for step in range(4 * EPOCHS // learners)], rel=1e-9)


@pytest.mark.parametrize("patience, target, factors", (
    (1, -10, [1] * 3 + [0.5] * 2 + [0.3] * 5),
    (2, -10, [1] * 4 + [0.5] * 3 + [0.3] * 3),
    (2, 10, [1] * 10)))
def test_plateau(arbalest, slope, patience, target, factors):
    """Trained towards 10, the model gets worse from evaluation to evaluation for the target -10. As ReduceLROnPlateau, the
    rate falls when `patience` evaluations without progress are followed by another one."""
    ones = np.ones((8, 1), np.float32)
    np.savez(arbalest.folder / "targets.npz", x_train=ones, y_train=10 * ones, x_test=ones, y_test=target * ones)
    arbalest("train", "slope.onnx", "--data", "targets.npz", "--no-normalise", "--loss", "mse", "--learners", 1, "--batch", 8,
             "--epochs", EPOCHS, "--lr", RATE, "--evaluate-every", 1, "--schedule", "plateau", "--gamma", 0.5, "--lr-floor", 0.3,
             "--patience", patience, "--log", "log.jsonl", "-o", "out.onnx")
    assert [e["learning_rate"] for e in arbalest.log(kind="epoch")] == pytest.approx([RATE * f for f in factors])


STEPS = ("--schedule", "step", "--step", 4, "--gamma", 0.5)


def test_momentum_begins_anew(slope):
    weights = {}
    for restart in ("none", "states"):
        weight, velocity = slope.START, 0
        for step in range(4 * EPOCHS):
            velocity = 0 if restart == "states" and step in (16, 32) else velocity
            velocity = 0.9 * velocity + 1
            weight -= RATE * 0.5 ** (step // 16) * velocity
        weights[restart], _ = slope.train(*STEPS, "--restart", restart, momentum=0.9)
        assert weights[restart] == pytest.approx(weight, rel=1e-5)
    assert weights["none"] < weights["states"] - 0.05
    assert slope.train(*STEPS, momentum=0.9)[0] == weights["none"]  # the default of one learner


def sma(start, parts, k=2, alpha=0.5, mu=0.9, momentum=0.9):
    """z of synchronous model averaging of k learners with equal gradients; parts: what begins anew at steps of the rate."""
    w = z = before = start
    velocity = 0
    for iteration in range(4 * EPOCHS // k):
        if iteration in (8, 16):
            before = z if "centre" in parts else before
            w = z if "weights" in parts else w
            velocity = 0 if "states" in parts else velocity
        velocity = momentum * velocity + 1
        step = RATE * 0.5 ** (iteration // 8) * velocity
        w, z, before = w - step - alpha * (w - z), z + alpha * k * (w - z) + mu * (z - before), z
    return z


PARTS = ("none", "weights", "centre", "states", "weights,centre,states")


def test_averaging_begins_anew(slope):
    reached = {}
    for parts in PARTS:
        reached[parts], _ = slope.train(*STEPS, "--sync", "sma", "--restart", parts, learners=2, momentum=0.9, out=f"{parts}.onnx")
        assert reached[parts] == pytest.approx(sma(slope.START, parts.split(",")), rel=1e-5), parts
    assert len({round(z, 3) for z in reached.values()}) == len(PARTS)
    slope.train(*STEPS, "--sync", "sma", learners=2, momentum=0.9, out="default.onnx")
    written = {name: (slope.arbalest.folder / f"{name}.onnx").read_bytes() for name in ("default", *PARTS)}
    assert written["default"] == written["weights,centre,states"] != written["none"]


def outer(start, sync, restart, momentum=0.9):
    """z of two learners with equal gradients, after outer steps every 2 iterations."""
    w = z = start
    u = velocity = 0
    for iteration in range(2 * EPOCHS):
        u = 0 if restart == "centre" and iteration in (8, 16) else u
        rate = RATE * 0.5 ** (iteration // 8)
        velocity = momentum * velocity + 1
        w -= rate * velocity
        if iteration % 2 == 0:
            continue
        if sync == "slowmo":
            u, velocity = 0.7 * u + (z - w) / rate, 0
            z -= rate * u
        else:
            u = 0.9 * u + (z - w)
            z -= 0.7 * (z - w + 0.9 * u)
        w = z
    return z


@pytest.mark.parametrize("sync", ("slowmo", "diloco"))
def test_outer_momentum_begins_anew(slope, sync):
    expected = {restart: outer(slope.START, sync, restart) for restart in ("none", "centre")}
    assert abs(expected["none"] - expected["centre"]) > 0.01
    for restart, z in expected.items():
        found, _ = slope.train(*STEPS, "--sync", sync, "--tau", 2, "--restart", restart, learners=2, momentum=0.9)
        assert found == pytest.approx(z, rel=1e-5)
    assert slope.train(*STEPS, "--sync", sync, "--tau", 2, learners=2, momentum=0.9)[0] == pytest.approx(expected["none"], rel=1e-5)


@pytest.mark.parametrize("options, named", (
    (("--schedule", "multi-step"), "milestones"),
    (("--schedule", "multi-step", "--milestones", "6,2"), "milestones"),
    (("--schedule", "step", "--gamma", 0), "gamma"),
    (("--schedule", "step", "--step", 0), "step"),
    (("--schedule", "cosine", "--lr-floor", 2), "floor"),
    (("--schedule", "plateau", "--patience", 0), "patience"),
    ((*STEPS, "--sync", "sma", "--restart", "weight"), "weight")))
def test_refusals(arbalest, slope, options, named):
    assert named in fails(arbalest, "train", "slope.onnx", "--data", "ones.npz", "--learners", 2, "-o", "out.onnx", *options, code=2)
