"""Options of the optimiser, the schedule and the synchroniser: what the chosen kind does not have is refused, not ignored."""
import os
import subprocess

import numpy as np
import pytest
from onnx import helper

from linear import read_tensors, save_model

@pytest.fixture
def train(arbalest, data):
    arbalest("new", "lenet", "-o", "model.onnx")

    def run(*options):
        command = [arbalest.path, "train", "model.onnx", "--data", data, "-o", "out.onnx", *options]
        return subprocess.run(list(map(str, command)), cwd=arbalest.folder, capture_output=True, text=True, timeout=120)

    return run


@pytest.mark.parametrize("options, owner", [
    (("--optimiser", "adam", "--dampening", 0.5), "sgd"),
    (("--dampening", 0, "--optimiser", "lars"), "sgd"),
    (("--beta1", 0.9), "adam"),
    (("--beta2", 0.99, "--optimiser", "adagrad"), "rmsprop"),
    (("--epsilon", 1e-3, "--optimiser", "lion"), "adam"),
    (("--trust", 0.1), "lars"),
    (("--milestones", "1,2", "--schedule", "cosine"), "multi-step"),
    (("--step", 3), "step"),
    (("--gamma", 0.5, "--schedule", "linear"), "exponential"),
    (("--patience", 3, "--schedule", "step"), "plateau"),
    (("--lr-floor", 0.1, "--schedule", "step"), "cosine"),
    (("--outer-lr", 0.7), "diloco"),
    (("--outer-momentum", 0.7, "--learners", 2), "slowmo"),
    (("--global-every", 2), "hierarchical"),
    (("--states-at-sync", "clear"), "local"),
    (("--states-at-sync", "clear", "--sync", "sma"), "local"),
])
def test_options_of_another_kind(train, options, owner):
    done = train(*options)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "no such option" in done.stderr and owner in done.stderr and options[0] in done.stderr


@pytest.mark.parametrize("learners", [(), ("--learners", 1), ("--learners", 2)])
@pytest.mark.parametrize("options", [("--alpha", -1), ("--alpha", 3), ("--central-momentum", 1.5)])
def test_an_impossible_alpha(train, options, learners):
    done = train(*options, *learners)
    assert done.returncode == 2, done.stdout + done.stderr
    assert options[0].removeprefix("--").replace("-", " ") in done.stderr


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="one core leaves no choice")
def test_an_alpha_that_limits_the_learners(arbalest, train):
    done = train("--alpha", 1, "--batch", 8, "--epochs", 1, "--log", "log.jsonl")  # 2 learners: below 3.8 / 3.9
    assert done.returncode == 0, done.stderr
    assert "no more than 1: alpha 1: SMA" in done.stdout
    limit = arbalest.log(kind="tuner")[0]
    assert (limit["decision"], limit["learners"]) == ("limit", 1) and "2 learners" in limit["why"]


def test_easgd_is_named(train):
    done = train("--sync", "easgd", "--alpha", 0.7, "--learners", 2)
    assert done.returncode == 2
    assert "EA-SGD" in done.stderr and "0.9 / learners" in done.stderr and "momentum" not in done.stderr


def test_the_trust_coefficient_of_lars(arbalest, train):
    done = train("--optimiser", "lars", "--trust", 0, "--epochs", 1, "--learners", 1)
    assert done.returncode == 0, done.stderr
    before, after = read_tensors(arbalest.folder / "model.onnx"), read_tensors(arbalest.folder / "out.onnx")
    assert all((after[name] == w).all() for name, w in before.items() if w.ndim > 1)


def normalised_model(path):
    """x -> its values less their mean, over their deviation, times a scale, plus an offset -> logits; in primitive operators."""
    random = np.random.default_rng(0)
    arrays = {"scale": np.ones((784,)), "offset": np.zeros((1, 784)), "gate": random.normal(0, 0.05, (784, 1)),
              "weight": random.normal(0, 0.05, (784, 10)), "bias": np.zeros(10)}
    nodes = [helper.make_node(op, i, o, **a) for op, i, o, a in [
        ("Flatten", ["x"], ["flat"], {}), ("ReduceMean", ["flat"], ["mean"], {"axes": [1]}), ("Sub", ["flat", "mean"], ["centred"], {}),
        ("Mul", ["centred", "centred"], ["squares"], {}), ("ReduceMean", ["squares"], ["variance"], {"axes": [1]}),
        ("Add", ["variance", "epsilon"], ["shifted"], {}), ("Sqrt", ["shifted"], ["deviation"], {}), ("Div", ["centred", "deviation"], ["normal"], {}),
        ("Mul", ["normal", "scale"], ["scaled"], {}), ("Add", ["scaled", "offset"], ["moved"], {}),
        ("MatMul", ["moved", "gate"], ["gated"], {}), ("Gemm", ["moved", "weight", "bias"], ["scores"], {}),
        ("Add", ["scores", "gated"], ["logits"], {})]]
    save_model(path, nodes, {"x": [1, 28, 28]}, {"logits": [10]},
               {name: a.astype(np.float32) for name, a in {**arrays, "epsilon": np.array(1e-5)}.items()})


def test_decay_of_weights_only(arbalest, data):
    normalised_model(arbalest.folder / "model.onnx")

    def step(*options):  # one, with all images
        arbalest("train", "model.onnx", "--data", data, "--epochs", 1, "--batch", 640, "--learners", 1, "--lr", 0.1, "-o", "out.onnx", *options)
        return read_tensors(arbalest.folder / "out.onnx")

    none, all_decay = step(), step("--weight-decay", 0.5)
    some = step("--weight-decay", 0.5, "--decay-weights-only")
    for name in ("scale", "offset", "bias"):
        assert (some[name] == none[name]).all(), name
    assert (all_decay["scale"] != none["scale"]).any()
    for name in ("weight", "gate"):  # also that of one output
        assert (some[name] == all_decay[name]).all() and (some[name] != none[name]).any(), name
