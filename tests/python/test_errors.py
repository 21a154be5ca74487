"""What the program refuses, it explains in one line, with an exit code other than 0; nothing that was there is lost."""
import os
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper


def fails(arbalest, *arguments, code=1):
    """The message of a run that must fail."""
    done = subprocess.run([arbalest.path, *map(str, arguments)], cwd=arbalest.folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.stderr.startswith("error: ") and done.stderr.count("error: ") == 1, done.stderr
    return done.stderr


def misused(arbalest, *arguments):
    """The message about options that make no sense, whatever the files."""
    done = subprocess.run([arbalest.path, *map(str, arguments)], cwd=arbalest.folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stderr.endswith("Run with --help for more information.\n"), done.stdout + done.stderr
    return done.stderr


@pytest.fixture
def lenet(arbalest):
    arbalest("new", "lenet", "-o", "model.onnx")
    return arbalest.folder / "model.onnx"


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_model_files(arbalest, lenet):
    bad = arbalest.folder / "bad.onnx"
    bad.write_bytes(lenet.read_bytes()[:5000])
    assert "bad.onnx" in fails(arbalest, "inspect", bad)
    bad.write_text("<html>not found</html>")
    assert "not an ONNX model" in fails(arbalest, "inspect", bad)
    assert "missing.onnx" in fails(arbalest, "inspect", "missing.onnx")


def test_unknown_operators_are_listed_together(arbalest):
    nodes = [helper.make_node("Frobnicate", ["x"], ["a"], name="first"), helper.make_node("Wobble", ["a"], ["y"], name="second", domain="com.acme")]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3])
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]), arbalest.folder / "odd.onnx")
    message = fails(arbalest, "inspect", "odd.onnx")
    assert all(word in message for word in ("Frobnicate", "first", "Wobble", "second", "com.acme"))


def test_data(arbalest, lenet, data):
    train = ("train", lenet, "-o", "out.onnx", "--data")
    fails(arbalest, *train, "nowhere", code=2)
    x = np.zeros((20, 1, 28, 28), np.uint8)
    message = fails(arbalest, *train, save(arbalest.folder / "a.npz", x=x, y=np.arange(20)))
    assert "the model has 10 classes" in message and "label" in message
    message = fails(arbalest, *train, save(arbalest.folder / "b.npz", x=x, y=np.zeros(19, np.int64)))
    assert "19" in message and "20" in message
    message = fails(arbalest, *train, save(arbalest.folder / "c.npz", x=np.zeros((20, 3, 32, 32), np.uint8), y=np.zeros(20, np.int64)), code=2)
    assert "1 x 28 x 28" in message and "3 x 32 x 32" in message
    message = fails(arbalest, *train, save(arbalest.folder / "d.npz", x=x, y=np.zeros(20, np.float32)), "--loss", "ce", code=2)
    assert "label" in message
    assert not (arbalest.folder / "out.onnx").exists()


def test_options(arbalest, lenet, data):
    train = ("train", lenet, "--data", data)
    fails(arbalest, *train, "-o", "no/such/folder/out.onnx")
    message = fails(arbalest, *train, "-o", "out.onnx", "--sync", "sma", "--learners", 4, "--alpha", 3, code=2)
    assert "alpha" in message
    message = fails(arbalest, *train, "-o", "out.onnx", "--momentum", 1.5, code=2)
    assert "momentum" in message
    message = fails(arbalest, *train, "-o", "out.onnx", "--freeze", "*")
    assert "nothing to train" in message
    for interval in ("0", "-1", "many", "1.5it", "0it", "inf", "it", "1e-300", "900000000000000000it"):
        assert f"'{interval}'" in misused(arbalest, *train, "-o", "out.onnx", "--evaluate-every", interval)
    assert "--checkpoint" in misused(arbalest, *train, "-o", "out.onnx", "--checkpoint-every", "0.5")
    message = fails(arbalest, *train, "-o", "out.onnx", "--training-info", "--epochs", 1, "--early-stop", 3, code=2)
    assert "--early-stop has no effect" in message
    message = fails(arbalest, "simulate", lenet, "--learners", 1, "--time", "lern=10", "--iterations", 5, code=2)
    assert "lern" in message and "learn, " in message


def test_fewer_examples_than_a_fixed_batch(arbalest, data):
    draw = np.random.default_rng(1)
    tensor = lambda name, *dims: onnx.numpy_helper.from_array(draw.standard_normal(dims).astype(np.float32), name)
    nodes = [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w"], ["h"]), helper.make_node("Add", ["h", "rows"], ["y"])]
    value = lambda name, *dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, *dims])
    graph = helper.make_graph(nodes, "g", [value("x", 1, 28, 28)], [value("y", 10)], [tensor("w", 784, 10), tensor("rows", 64, 10)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), arbalest.folder / "fixed.onnx")
    arrays = dict(np.load(data))
    few = save(arbalest.folder / "few.npz", **{**arrays, "x_test": arrays["x_test"][:50], "y_test": arrays["y_test"][:50]})
    message = fails(arbalest, "train", "fixed.onnx", "--data", few, "--batch", 64, "--learners", 1, "-o", "out.onnx", code=2)
    assert "batch of 64" in message and "50 examples" in message
    message = fails(arbalest, "eval", "fixed.onnx", "--data", few, code=2)
    assert "batch of 64" in message and "50 examples" in message
    text = arbalest("train", "fixed.onnx", "--data", data, "--batch", 64, "--learners", 1, "--epochs", 1, "-o", "out.onnx")
    assert "44 of the test examples do not fill a batch of 64" in text  # 300 - 4 x 64


def test_a_loss_that_is_not_finite_keeps_the_last_good_model(arbalest, lenet, data):
    arbalest("train", lenet, "--data", data, "--epochs", 1, "--lr", 0.01, "-o", "out.onnx")
    message = fails(arbalest, "train", lenet, "--data", data, "--epochs", 50, "--lr", 3, "--learners", 1, "-o", "out.onnx")
    assert "iteration" in message and "nan" in message or "inf" in message
    model = onnx.load(arbalest.folder / "out.onnx")
    assert all(np.isfinite(onnx.numpy_helper.to_array(t)).all() for t in model.graph.initializer)


def test_interrupt_writes_the_model(arbalest, lenet, data):
    run = subprocess.Popen([arbalest.path, "train", lenet, "--data", data, "--epochs", "100000", "-o", "out.onnx", "--log", "log.jsonl"],
                           cwd=arbalest.folder, stdout=subprocess.PIPE, text=True)
    log = arbalest.folder / "log.jsonl"
    for _ in range(600):
        if log.exists() and log.read_text().count("epoch\"") >= 2:
            break
        time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 0 and "out.onnx" in output and "stopped" in output
    onnx.checker.check_model(arbalest.folder / "out.onnx")
    events = arbalest.log()
    assert events[0]["event"] == "start" and events[-1]["event"] == "end" and events[-1]["interrupted"]
    epoch = next(e for e in events if e["event"] == "epoch")
    assert {"epoch", "seconds", "loss", "accuracy", "images_per_second"} <= epoch.keys()


@pytest.mark.skipif(os.geteuid() == 0 and not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_log_that_cannot_be_written(arbalest, lenet, data):
    message = fails(arbalest, "train", lenet, "--data", data, "-o", "out.onnx", "--log", "/dev/full")
    assert "log" in message
