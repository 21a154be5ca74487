"""A linear layer that the program trains, and what training it must give, in double precision."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NAMES = ("layer.weight", "layer.bias")
RATE = 0.1
WEIGHT, BIAS = np.repeat([1.0, 0.0], [6, 2]), np.repeat([0.0, 1.0], [6, 2])  # which of the 8 parameters are of which


def save_model(path, nodes, inputs, outputs, tensors):
    """inputs and outputs: sizes of an example by name; tensors: arrays by name."""
    declared = lambda sizes: [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", *s]) for n, s in sizes.items()]
    graph = helper.make_graph(nodes, "g", declared(inputs), declared(outputs),
                              [numpy_helper.from_array(value, name) for name, value in tensors.items()])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def read_tensors(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


class LinearLayer:
    """y = x w + b from 3 features to 2, with the mean squared error to targets at random. Its parameters are one array
    here: w, then b. `element`: the type in which the file keeps them and computes; `equal`: all examples are the same."""

    def __init__(self, arbalest, examples, element=TensorProto.FLOAT, equal=False):
        self.arbalest = arbalest
        random = np.random.default_rng(11)
        self.x = random.standard_normal((examples, 3)).astype(np.float32)
        self.y = random.standard_normal((examples, 2)).astype(np.float32)
        if equal:
            self.x[:], self.y[:] = self.x[0], self.y[0]
        start = [random.standard_normal(shape).astype(helper.tensor_dtype_to_np_dtype(element)) for shape in ((3, 2), (2,))]
        nodes = [helper.make_node("Cast", ["x"], ["features"], to=element),
                 helper.make_node("Gemm", ["features", *NAMES], ["product"], name="layer"),
                 helper.make_node("Cast", ["product"], ["y"], to=TensorProto.FLOAT)]
        save_model(arbalest.folder / "linear.onnx", nodes, {"x": [3]}, {"y": [2]}, dict(zip(NAMES, start)))
        np.savez(arbalest.folder / "linear.npz", x_train=self.x, y_train=self.y, x_test=self.x, y_test=self.y)
        self.start = self.read("linear.onnx")

    def read(self, name):
        tensors = read_tensors(self.arbalest.folder / name)
        return np.concatenate([tensors[n].astype(np.float64).ravel() for n in NAMES])

    def train(self, *options, out="trained.onnx"):
        """The parameters after a run; without --epochs and --batch, after 5 steps of one learner on all 8 examples."""
        defaults = {"--learners": 1, "--batch": 8, "--epochs": 5, "--lr": RATE, "--momentum": 0}
        given = [x for name, value in defaults.items() if name not in options for x in (name, value)]
        self.arbalest("train", "linear.onnx", "--data", "linear.npz", "--no-normalise", "--loss", "mse", "-o", out,
                      *given, *options)
        return self.read(out)

    def gradient(self, p, examples=slice(None)):
        x, y = self.x[examples].astype(np.float64), self.y[examples]
        error = 2 * (x @ p[:6].reshape(3, 2) + p[6:] - y) / y.size
        return np.concatenate([(x.T @ error).ravel(), error.sum(axis=0)])

    def losses(self, p):
        """Of each example."""
        return np.mean((self.x.astype(np.float64) @ p[:6].reshape(3, 2) + p[6:] - self.y) ** 2, axis=1)
