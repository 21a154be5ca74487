"""Models whose sizes only the data tell: outputs against onnxruntime, for data of several sizes; training and evaluation."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper


def large_rows_model(path):
    """Of 6 features a hidden layer of 16; the mean of its rows that are large, for each example its own sum."""
    random = np.random.default_rng(3)
    weights = {"w1": random.standard_normal((6, 16)) / 2, "w2": random.standard_normal((16, 3)) / 4}
    node = helper.make_node
    nodes = [
        node("Constant", [], ["zero"], value=numpy_helper.from_array(np.float32(0.6))),
        node("Constant", [], ["axis"], value=numpy_helper.from_array(np.array([2]))),
        node("MatMul", ["x", "w1"], ["h0"]), node("Relu", ["h0"], ["h"]),
        node("ReduceMean", ["h"], ["mean"], axes=[2], keepdims=0), node("Greater", ["mean", "zero"], ["mask"]),
        node("NonZero", ["mask"], ["places"]), node("Transpose", ["places"], ["rows"]), node("GatherND", ["h", "rows"], ["large"]),
        node("MatMul", ["large", "w2"], ["scores"]), node("Shape", ["h"], ["all"]),
        node("Constant", [], ["three"], value=numpy_helper.from_array(np.array([3]))),
        node("Constant", [], ["none"], value=numpy_helper.from_array(np.array([0]))),
        node("Constant", [], ["two"], value=numpy_helper.from_array(np.array([2]))),
        node("Slice", ["all", "none", "two"], ["places_of"]), node("Concat", ["places_of", "three"], ["target"], axis=0),
        node("ConstantOfShape", ["target"], ["nothing"]), node("ScatterND", ["nothing", "rows", "scores"], ["scattered"]),
        node("ReduceSum", ["scattered", "time"], ["y"], keepdims=0),
        node("Constant", [], ["time"], value=numpy_helper.from_array(np.array([1]))),
    ]
    nodes.insert(0, nodes.pop())
    graph = helper.make_graph(
        nodes, "large_rows", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "time", 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


@pytest.fixture
def model(arbalest):
    path = arbalest.folder / "rows.onnx"
    large_rows_model(path)
    return path


def test_outputs_for_several_sizes(arbalest, model):
    session = onnxruntime.InferenceSession(model)
    random = np.random.default_rng(1)
    folders = []
    for i, shape in enumerate([(2, 5, 6), (2, 9, 6), (3, 5, 6), (2, 5, 6)]):
        x = random.standard_normal(shape).astype(np.float32) * (i > 0)  # the first one chooses nothing
        folders.append(arbalest.folder / f"data_{i}")
        folders[-1].mkdir()
        (folders[-1] / "input_0.pb").write_bytes(numpy_helper.from_array(x, "x").SerializeToString())
        y, = session.run(None, {"x": x})
        assert np.any(y) == (i > 0)
        (folders[-1] / "output_0.pb").write_bytes(numpy_helper.from_array(y, "y").SerializeToString())
    arbalest("verify", model, "--test-data", *folders)


@pytest.mark.parametrize("learners", [1, 2])
def test_training(arbalest, model, learners):
    random = np.random.default_rng(2)
    x = random.standard_normal((600, 8, 6)).astype(np.float32)
    y = (x.sum(axis=(1, 2)) > 0).astype(np.int64) + (x[:, :, 0].sum(axis=1) > 2)
    np.savez(arbalest.folder / "data.npz", x=x, y=y)
    common = ("--data", "data.npz", "--loss", "ce", "--no-normalise")
    arbalest("train", model, *common, "--learners", learners, "--batch", 10, "--epochs", 3, "--evaluate-every", 1, "--lr", 0.02,
             "-o", "out.onnx", "--log", "log.jsonl")
    losses = [e["loss"] for e in arbalest.log(kind="epoch")]
    assert losses[-1] < 0.9 * losses[0], losses
    before, after = (arbalest.json("eval", m, *common) for m in (model, "out.onnx"))
    assert after["loss"] < 0.8 * before["loss"]
    out = onnxruntime.InferenceSession(arbalest.folder / "out.onnx").run(None, {"x": x})[0]
    assert np.all(np.isfinite(out))


def test_inspect_says_what_it_takes(arbalest, model):
    text = arbalest("inspect", model, "--dim", "time=8", "--loss", "ce")
    assert "only the data tell" in text
