"""What training and evaluation tell: counts of classes, averages of the model, logs, TensorBoard's files, curves."""
import xml.etree.ElementTree

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from comparison import normalised, run
from linear import read_tensors
from test_errors import fails

# 640 examples, 16 a step: 40 iterations an epoch
OPTIONS = ("--data", "squares.npz", "--learners", 2, "--batch", 8, "--seed", 3)


@pytest.fixture
def train(arbalest, data):
    """Trains the model; gives the events of its log, by kind."""
    arbalest("new", "lenet", "-o", "model.onnx")

    def trained(out, *options, rate=0.01):
        arbalest("train", "model.onnx", *OPTIONS, "--lr", rate, "-o", out, "--log", "log.jsonl", *options)
        return {kind: arbalest.log(kind=kind) for kind in ("start", "progress", "epoch", "end")}

    return trained


def ranks(scores, labels):
    """How many classes rank before the label, and the predicted class: of equal scores the lower class is first."""
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.argmax(order == labels[:, None], axis=1), order[:, 0]


def confusion(labels, predicted, classes=10):
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (labels, predicted), 1)
    return counts


def weights(arbalest, name):
    return {tensor: value.astype(np.float64) for tensor, value in read_tensors(arbalest.folder / name).items()}


def test_counts_of_classes_are_those_of_onnxruntime(arbalest, data, train):
    epoch = train("trained.onnx", "--epochs", 1, "--top-k", 3, "--confusion")["epoch"][-1]
    arrays = np.load(data)
    scores, labels = run(arbalest.folder / "trained.onnx", normalised(arrays["x_test"], arrays["x_train"])), arrays["y_test"]
    before, predicted = ranks(scores, labels)
    for counts in (epoch, arbalest.json("eval", "trained.onnx", "--data", data, "--top-k", 3, "--confusion")):
        assert counts["accuracy"] == pytest.approx(np.mean(before == 0), abs=1e-9)
        assert counts["top_k"] == 3 and counts["top_k_accuracy"] == pytest.approx(np.mean(before < 3), abs=1e-9)
        assert counts["confusion"] == confusion(labels, predicted).tolist()
    text = arbalest("eval", "trained.onnx", "--data", data, "--top-k", 3, "--confusion")
    assert "top 3" in text and "recall" in text and "precision" in text


def test_counts_of_positions(arbalest):
    """A segmentation: a 1 x 1 convolution, classes on axis 1, one ignored label."""
    random = np.random.default_rng(5)
    weight = random.standard_normal((4, 2, 1, 1)).astype(np.float32)
    value = lambda name, channels: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", channels, 3, 5])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Conv", ["x", "w"], ["y"])], "g", [value("x", 2)], [value("y", 4)],
                                   [numpy_helper.from_array(weight, "w")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), arbalest.folder / "model.onnx")
    x, y = random.standard_normal((23, 2, 3, 5)).astype(np.float32), random.integers(0, 4, (23, 3, 5))
    y[random.random(y.shape) < 0.3] = 255
    np.savez(arbalest.folder / "map.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    found = arbalest.json("eval", "model.onnx", "--data", "map.npz", "--no-normalise", "--top-k", 2, "--confusion", "--ignore-index", 255)
    scores = run(arbalest.folder / "model.onnx", x).transpose(0, 2, 3, 1).reshape(-1, 4)
    counted = y.reshape(-1) != 255
    before, predicted = ranks(scores[counted], y.reshape(-1)[counted])
    assert found["correct"] == np.sum(before == 0) and found["accuracy"] == pytest.approx(np.mean(before == 0), abs=1e-9)
    assert found["top_k_accuracy"] == pytest.approx(np.mean(before < 2), abs=1e-9)
    assert found["confusion"] == confusion(y.reshape(-1)[counted], predicted, 4).tolist()


@pytest.mark.parametrize("options, rule", ((("--swa-from", 1), lambda a, w, n: (a * n + w) / (n + 1)),
                                           (("--ema", 0.6, "--ema-every", 40), lambda a, w, n: 0.6 * a + 0.4 * w)))
def test_averages_of_the_model(arbalest, data, train, options, rule):
    """The model after each epoch is that of a shorter run."""
    average = None
    for epochs in (1, 2, 3):
        train("plain.onnx", "--epochs", epochs)
        model = weights(arbalest, "plain.onnx")
        average = model if average is None else {name: rule(average[name], w, epochs - 1) for name, w in model.items()}
    plain = model
    epoch = train("averaged.onnx", "--epochs", 3, *options)["epoch"][-1]
    written = weights(arbalest, "averaged.onnx")
    for name, value in average.items():
        assert written[name] == pytest.approx(value, abs=1e-6)
    assert any(not np.array_equal(written[name], plain[name]) for name in written)
    evaluation = arbalest.json("eval", "averaged.onnx", "--data", data)
    assert evaluation["accuracy"] == epoch["accuracy"] and evaluation["loss"] == pytest.approx(epoch["test_loss"], rel=1e-5)


def test_log(train):
    events = train("trained.onnx", "--epochs", 2, "--schedule", "linear", "--target-accuracy", 1e-9, "--evaluate-every", 0.5)
    assert [e["iteration"] for e in events["progress"]] == list(range(2, 21, 2))
    assert all(e["epoch"] == pytest.approx(e["iteration"] / 40) for e in events["progress"])
    epoch, = events["epoch"]
    assert epoch["iteration"] == 20 and epoch["learning_rate"] == pytest.approx(0.01 * (1 - 19 / 80))
    assert epoch["learning_rate"] == events["progress"][-1]["learning_rate"]
    assert epoch["loss"] == pytest.approx(np.mean([e["loss"] for e in events["progress"]]))
    end, = events["end"]
    assert end["time_to_accuracy"] == end["training_seconds"] == pytest.approx(epoch["seconds"])
    assert end["evaluation_seconds"] == epoch["evaluation_seconds"] > 0
    assert end["wall_seconds"] >= end["training_seconds"] + end["evaluation_seconds"]


def test_target_that_is_not_reached(train):
    end, = train("trained.onnx", "--epochs", 1, "--target-accuracy", 1, rate=1e-9)["end"]
    assert end["target_accuracy"] == 1 and end["time_to_accuracy"] is None


def test_tensorboard(arbalest, train):
    events = train("trained.onnx", "--epochs", 2, "--top-k", 2, "--schedule", "cosine", "--tensorboard", "board")
    accumulator = EventAccumulator(str(arbalest.folder / "board"))
    accumulator.Reload()
    scalars = {tag: {e.step: e.value for e in accumulator.Scalars(tag)} for tag in accumulator.Tags()["scalars"]}
    expected = {"loss/train": ("epoch", "loss"), "loss/test": ("epoch", "test_loss"), "accuracy/test": ("epoch", "accuracy"),
                "accuracy/test_top_2": ("epoch", "top_k_accuracy"), "images_per_second": ("epoch", "images_per_second"),
                "loss/progress": ("progress", "loss"), "learning_rate": ("progress", "learning_rate")}
    assert scalars.keys() == expected.keys()
    for tag, (kind, field) in expected.items():
        assert scalars[tag] == {e["iteration"]: pytest.approx(e[field], rel=1e-6) for e in events[kind]}, tag


def test_a_resumed_run_replaces_what_tensorboard_has_of_it(arbalest, train):
    options = ("--tensorboard", "board", "--checkpoint", "run", "--checkpoint-every", 0.5)
    train("trained.onnx", "--epochs", 2, *options)
    (newest,) = sorted(arbalest.folder.glob("run/*"))[-1:]
    newest.unlink()  # as if the run had ended before
    train("trained.onnx", "--epochs", 2, *options, "--resume")
    accumulator = EventAccumulator(str(arbalest.folder / "board"))
    accumulator.Reload()
    steps = [e.step for e in accumulator.Scalars("loss/progress")]
    assert steps == sorted(set(steps)) and steps[-1] == 80


def test_evaluations(arbalest, data):
    """Without --evaluate-every so rarely that the forward passes, a third of a step each, take under 3 % of the time."""
    arrays = np.load(data)
    np.savez(arbalest.folder / "unsplit.npz", x=arrays["x_test"], y=arrays["y_test"])
    arbalest("new", "lenet", "-o", "model.onnx")

    def epochs(*options):
        text = arbalest("train", "model.onnx", "--data", "unsplit.npz", "--learners", 1, "--epochs", 5, "--log", "log.jsonl",
                        "-o", "out.onnx", *options)
        return [e["epoch"] for e in arbalest.log(kind="epoch")], "every 2 epochs" in text

    assert epochs() == ([2, 4, 5], True)  # a ninth of the training examples are tested
    assert epochs("--evaluate-every", 1) == ([1, 2, 3, 4, 5], False)
    assert epochs("--holdout", 0.08) == ([1, 2, 3, 4, 5], False)


def test_curves(arbalest, train):
    train("trained.onnx", "--epochs", 3, "--evaluate-every", 1, "--top-k", 2, "--curves", "curves.svg")
    svg = xml.etree.ElementTree.parse(arbalest.folder / "curves.svg").getroot()
    texts = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Loss", "Accuracy", "training", "test", "test, top 2", "epoch"} <= set(texts)
    assert sum(1 for _ in svg.iter("{http://www.w3.org/2000/svg}circle")) == 4 * 3


def test_refusals(arbalest, train, data):
    refused = lambda *options: fails(arbalest, "train", "model.onnx", *OPTIONS, "--epochs", 5, "-o", "out.onnx", *options, code=2)
    assert "--swa-from 9" in refused("--swa-from", 9)
    assert "11 best classes" in refused("--top-k", 11)
    assert "cross-entropy" in refused("--confusion", "--loss", "logits=sum")
