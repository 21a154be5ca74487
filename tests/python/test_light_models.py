"""The light models of the onnx package: ImageNet architectures whose weights ConstantOfShape makes, all of them equal. They
train once --reinit has drawn start values."""
import pathlib

import numpy as np
import onnx
import onnx.backend.test
import pytest

FOLDER = pathlib.Path(onnx.backend.test.__file__).parent / "data" / "light"
NAMES = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
         "zfnet512")
# 20 steps of the others take the processor for 40 s (zfnet512) to many minutes (vgg19).
QUICK = ("shufflenet", "squeezenet")
STEPS = 20


def model(name):
    return FOLDER / f"light_{name}.onnx"


@pytest.fixture
def noise(tmp_path):
    """Two images at random and their classes."""
    random = np.random.default_rng(7)
    path = tmp_path / "noise.npz"
    x = random.standard_normal((2, 3, 224, 224), dtype=np.float32)
    y = np.array([3, 998])
    np.savez(path, x_train=x, y_train=y, x_test=x[:1], y_test=y[:1])
    return path


def test_the_package_has_no_other_light_models():
    assert {path.stem for path in FOLDER.glob("*.onnx")} == {f"light_{name}" for name in NAMES}


def weights(graph):
    """Of the layers, seen through Reshape."""
    behind = {n.output[0]: n.input[0] for n in graph.node if n.op_type == "Reshape"}
    names = (n.input[1] for n in graph.node if n.op_type in ("Conv", "Gemm"))
    return {behind.get(name, name) for name in names}


def says_the_way_out(text):
    return "all elements equal" in text and "--reinit kaiming" in text


@pytest.mark.parametrize("name", NAMES)
def test_says_that_the_weights_are_equal(arbalest, name):
    facts = arbalest.json("inspect", model(name))
    assert not any(p["trains"] and len(p["shape"]) > 1 for p in facts["parameters"])
    assert says_the_way_out("\n".join(facts["notices"]))


def test_train_says_so_too(arbalest, noise):
    assert says_the_way_out(arbalest("train", model("squeezenet"), "--data", noise, "--epochs", 1, "-o", "trained.onnx"))


@pytest.mark.parametrize("name, rule", [(name, "kaiming") for name in NAMES] + [("squeezenet", "xavier")])
def test_every_weight_gets_new_values(arbalest, name, rule):
    facts = arbalest.json("inspect", model(name), "--reinit", rule)
    trained = {p["name"] for p in facts["parameters"] if p["trains"]}
    assert weights(onnx.load(model(name)).graph) <= trained
    assert not any("equal" in notice for notice in facts["notices"])


@pytest.mark.parametrize("name", QUICK)
def test_trains(arbalest, noise, name):
    arbalest("train", model(name), "--data", noise, "--reinit", "kaiming", "--epochs", STEPS, "--evaluate-every", 1,
             "--batch", 2, "--lr", 0.002, "--momentum", 0.9, "--threads-per-learner", 2, "--no-normalise", "--log", "log.jsonl",
             "-o", "trained.onnx")
    losses = [e["loss"] for e in arbalest.log(kind="epoch")]
    assert len(losses) == STEPS
    assert losses[-1] < 0.8 * losses[0]
    trained = onnx.load(arbalest.folder / "trained.onnx")
    onnx.checker.check_model(trained)
