"""When a run ends and which of its models it writes, told by evaluations that get better and then worse."""
import numpy as np
import pytest
from onnx import helper

from linear import save_model

RATE, EPOCHS = 0.25, 20
X = np.linspace(-3, 3, 61).astype(np.float32)[:, None] + np.float32(0.013)


@pytest.fixture
def train(arbalest):
    """Class 1 where x + (b1 - b0) > 0. The training examples, all of them x = 0 and class 1, move the threshold from 3 to
    where nearly all is class 1; the test examples are of class 1 where x > 0. Gives the events of evaluations, and of the end."""
    tensors = {"w": np.array([[-0.5, 0.5]], np.float32), "b": np.array([1.5, -1.5], np.float32)}
    save_model(arbalest.folder / "threshold.onnx", [helper.make_node("Gemm", ["x", "w", "b"], ["y"])], {"x": [1]}, {"y": [2]},
               tensors)
    np.savez(arbalest.folder / "threshold.npz", x_train=np.zeros((8, 1), np.float32), y_train=np.ones(8, np.int64),
             x_test=X, y_test=(X[:, 0] > 0).astype(np.int64))

    def run(*options, out="out.onnx", epochs=EPOCHS, every=1):
        arbalest("train", "threshold.onnx", "--data", "threshold.npz", "--no-normalise", "--freeze", "w", "--learners", 1,
                 "--batch", 8, "--epochs", epochs, "--lr", RATE, "--momentum", 0, "--evaluate-every", every, "--log", "log.jsonl",
                 "-o", out, *options)
        end, = arbalest.log(kind="end")
        return arbalest.log(kind="epoch"), end

    return run


def accuracies():
    """After each epoch, which is one step."""
    threshold, found = 3.0, []
    for _ in range(EPOCHS):
        threshold -= 2 * RATE / (1 + np.exp(-threshold))  # the cross-entropy moves both biases
        found.append(np.mean((X[:, 0] > threshold) == (X[:, 0] > 0)))
        assert np.abs(X - threshold).min() > 1e-3
    return found


EXPECTED = accuracies()
BEST = int(np.argmax(EXPECTED))


def accuracy_of(arbalest, name):
    return arbalest.json("eval", name, "--data", "threshold.npz", "--no-normalise")["accuracy"]


def test_without_options_the_last_model_is_written(arbalest, train):
    assert 3 < BEST < EPOCHS - 6 and EXPECTED[-1] < EXPECTED[BEST] - 0.1
    epochs, _ = train()
    assert [e["accuracy"] for e in epochs] == pytest.approx(EXPECTED)
    assert accuracy_of(arbalest, "out.onnx") == pytest.approx(EXPECTED[-1])


def test_keep_best(arbalest, train):
    epochs, _ = train("--keep-best")
    assert len(epochs) == EPOCHS
    assert accuracy_of(arbalest, "out.onnx") == pytest.approx(max(e["accuracy"] for e in epochs)) == pytest.approx(EXPECTED[BEST])
    train(out="until_best.onnx", epochs=BEST + 1)
    assert (arbalest.folder / "out.onnx").read_bytes() == (arbalest.folder / "until_best.onnx").read_bytes()


@pytest.mark.parametrize("evaluations", (1, 4))
def test_early_stop(arbalest, train, evaluations):
    epochs, end = train("--early-stop", evaluations)
    assert len(epochs) == end["iterations"] == BEST + 1 + evaluations
    assert end["stopped"] == f"by --early-stop {evaluations}: no better evaluation" and not end["interrupted"]
    assert accuracy_of(arbalest, "out.onnx") == pytest.approx(EXPECTED[BEST + evaluations])
    train("--early-stop", evaluations, "--keep-best")
    assert accuracy_of(arbalest, "out.onnx") == pytest.approx(EXPECTED[BEST])


def test_early_stop_counts_evaluations_and_not_epochs(train):
    epochs, _ = train("--early-stop", 2, every=2)
    seen = EXPECTED[1::2]
    assert [e["accuracy"] for e in epochs] == pytest.approx(seen[:int(np.argmax(seen)) + 3])


def test_target_accuracy(arbalest, train):
    target = (EXPECTED[1] + EXPECTED[2]) / 2
    epochs, end = train("--target-accuracy", target)
    assert [e["accuracy"] for e in epochs] == pytest.approx(EXPECTED[:3])
    assert end["target_accuracy"] == target and end["time_to_accuracy"] == end["training_seconds"]
    assert accuracy_of(arbalest, "out.onnx") == pytest.approx(EXPECTED[2])
