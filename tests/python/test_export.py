"""The file that training writes: valid, equal to the one read but for the trained values, and of the same outputs in
onnxruntime."""
import gzip
import pathlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from comparison import assert_only_these_changed, cross_entropy, normalised, run, running_statistics

MODELS = ("mlp", "lenet", "resnet8")
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")


def new(arbalest, name):
    shape = ("--input", "1x28x28") if name == "resnet8" else ()
    arbalest("new", name, "-o", "model.onnx", *shape)
    return arbalest.folder / "model.onnx"


def train(arbalest, data, *options):
    arbalest("train", "model.onnx", "--data", data, "--epochs", 1, "--batch", 16, "--lr", 0.01, "--seed", 3, "-o",
             "trained.onnx", *options)
    return arbalest.folder / "trained.onnx"


def trained_names(arbalest):
    return {p["name"] for p in arbalest.json("inspect", "model.onnx")["parameters"] if p["trains"]}


@pytest.mark.parametrize("sync", ("none", "ssgd", "sma"))
@pytest.mark.parametrize("name", MODELS)
def test_only_trained_tensors_change(arbalest, data, name, sync):
    model = new(arbalest, name)
    onnx.checker.check_model(model, full_check=True)
    trained = train(arbalest, data, "--sync", sync, "--learners", 1 if sync == "none" else 2)
    onnx.checker.check_model(trained, full_check=True)
    names = trained_names(arbalest)
    assert names
    assert_only_these_changed(model, trained, names | running_statistics(onnx.load(model)))


@pytest.mark.parametrize("name", MODELS)
def test_same_numbers_in_onnxruntime(arbalest, data, name):
    new(arbalest, name)
    trained = train(arbalest, data, "--sync", "sma", "--learners", 2)
    arrays = np.load(data)
    inputs = normalised(arrays["x_test"], arrays["x_train"])
    logits = run(trained, inputs)
    labels = arrays["y_test"]
    evaluation = arbalest.json("eval", "trained.onnx", "--data", data)
    assert evaluation["examples"] == len(labels)
    assert evaluation["correct"] == np.sum(logits.argmax(axis=1) == labels)
    assert evaluation["accuracy"] == pytest.approx(np.mean(logits.argmax(axis=1) == labels), abs=1e-9)
    assert evaluation["loss"] == pytest.approx(cross_entropy(logits, labels), rel=1e-4)

    # Each output within 1e-4 of the greatest one: what `verify --test-data` measures.
    (arbalest.folder / "input_0.pb").write_bytes(numpy_helper.from_array(inputs[:32], "x").SerializeToString())
    (arbalest.folder / "output_0.pb").write_bytes(numpy_helper.from_array(logits[:32], "y").SerializeToString())
    arbalest("verify", "trained.onnx", "--test-data", ".")


def test_same_accuracy_on_fashion_mnist(arbalest):
    files = FASHION_MNIST
    if not files.is_dir():
        pytest.skip("the package dataset-fashion-mnist is not installed")
    new(arbalest, "lenet")
    trained = train(arbalest, "fashion-mnist", "--sync", "sma", "--learners", 2)
    logits = run(trained, normalised(idx_images(files, "t10k"), idx_images(files, "train")))
    labels = idx(files / "t10k-labels-idx1-ubyte.gz", 8)
    evaluation = arbalest.json("eval", "trained.onnx", "--data", "fashion-mnist")
    assert evaluation["examples"] == 10_000
    assert abs(evaluation["correct"] - np.sum(logits.argmax(axis=1) == labels)) <= 1  # a tie may round either way
    assert evaluation["loss"] == pytest.approx(cross_entropy(logits, labels), rel=1e-4)
    assert evaluation["accuracy"] > 0.7


def idx(path, header):
    return np.frombuffer(gzip.open(path).read(), np.uint8, offset=header)


def idx_images(files, split):
    return idx(files / f"{split}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)


def test_same_seed_same_bytes(arbalest, data):
    new(arbalest, "lenet")
    first = train(arbalest, data, "--sync", "sma", "--learners", 2).read_bytes()
    assert train(arbalest, data, "--sync", "sma", "--learners", 2).read_bytes() == first


def handmade(ir_version, constant_nodes, encode):
    """A classifier with what exporters leave in files: documentation, metadata, unused tensors and domains, a shape as an
    initializer; weights as initializers, which up to IR 3 are inputs too, or in Constant nodes."""
    random = np.random.default_rng(4)

    def tensor(name, *shape):
        values = (random.standard_normal(shape) * 0.05).astype(np.float32)
        return encode(name, values)

    weights = [tensor("dense/weight:0", 784, 32), tensor("dense/bias:0", 32), tensor("last", 32, 10)]
    others = [helper.make_tensor("flat", TensorProto.INT64, [2], [-1, 784]),
              helper.make_tensor("unused", TensorProto.INT8, [3], [1, 2, 3])]
    nodes = [
        helper.make_node("Reshape", ["image", "flat"], ["x"], name="reshape"),
        helper.make_node("MatMul", ["x", "dense/weight:0"], ["product"], doc_string="a node with a remark"),
        helper.make_node("Add", ["product", "dense/bias:0"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "last"], ["logits"]),
    ]
    if constant_nodes:
        nodes = [helper.make_node("Constant", [], [t.name], value=t) for t in weights] + nodes
    initializers = others if constant_nodes else weights + others
    inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 28, 28])]
    if ir_version < 4:
        inputs += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in initializers]
    graph = helper.make_graph(
        nodes, "handmade", inputs, [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])], initializers,
        doc_string="a graph", value_info=[helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["N", 32])])
    model = helper.make_model(graph, producer_name="hand", producer_version="1", ir_version=ir_version,
                              opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("com.example", 2)])
    model.doc_string = "a model"
    model.model_version = 7
    helper.set_model_props(model, {"author": "nobody", "ключ": "значение"})
    return model


def as_raw_data(name, values):
    return numpy_helper.from_array(values, name)


def as_float_data(name, values):
    return helper.make_tensor(name, TensorProto.FLOAT, values.shape, values.flatten())


@pytest.mark.parametrize("encode", (as_raw_data, as_float_data))
@pytest.mark.parametrize("ir_version, constant_nodes", ((3, False), (8, False), (8, True)))
def test_model_of_another_exporter(arbalest, data, ir_version, constant_nodes, encode):
    model = arbalest.folder / "model.onnx"
    onnx.save(handmade(ir_version, constant_nodes, encode), model)
    trained = train(arbalest, data, "--sync", "sma", "--learners", 2)
    onnx.checker.check_model(trained)
    assert_only_these_changed(model, trained, {"dense/weight:0", "dense/bias:0", "last"})
    arrays = np.load(data)
    logits = run(trained, normalised(arrays["x_test"], arrays["x_train"]))
    evaluation = arbalest.json("eval", "trained.onnx", "--data", data)
    assert evaluation["correct"] == np.sum(logits.argmax(axis=1) == arrays["y_test"])
