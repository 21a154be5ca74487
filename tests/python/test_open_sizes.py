"""Operators whose positions along an axis matter, with sizes that the file leaves open: one model, two sizes, the numbers of
onnxruntime."""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
IMAGE = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}

# operator, opset, attributes, inputs (type, symbolic shape, what integers are below), types of the outputs
CASES = [
    ("Hardmax", 13, {"axis": 1}, [(FLOAT, ("N", "C", 3), None)], [FLOAT]),
    ("Hardmax", 11, {"axis": 1}, [(FLOAT, ("N", "C", 3), None)], [FLOAT]),
    ("NegativeLogLikelihoodLoss", 13, {"reduction": "sum"},
     [(FLOAT, ("N", "C", "T"), None), (INT64, ("N", "T"), 4)], [FLOAT]),
    ("MaxPool", 12, IMAGE, [(FLOAT, ("N", "C", 7, 5), None)], [FLOAT, INT64]),
    ("MaxPool", 12, {**IMAGE, "storage_order": 1}, [(FLOAT, ("N", "C", 7, 5), None)], [FLOAT, INT64]),
]


@pytest.mark.parametrize("op, opset, attributes, inputs, outputs", CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_the_sizes_come_with_the_data(arbalest, tmp_path, op, opset, attributes, inputs, outputs):
    names = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(outputs))]
    graph = helper.make_graph(
        [helper.make_node(op, *names, **attributes)], "g",
        [helper.make_tensor_value_info(n, t, shape) for n, (t, shape, _) in zip(names[0], inputs)],
        [helper.make_tensor_value_info(n, t, None) for n, t in zip(names[1], outputs)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    random = np.random.default_rng(1)
    for sizes in ({"N": 2, "C": 4, "T": 3}, {"N": 3, "C": 6, "T": 1}):
        feeds = {}
        for name, (kind, shape, below) in zip(names[0], inputs):
            dims = [sizes.get(d, d) for d in shape]
            feeds[name] = random.permutation(int(np.prod(dims))).reshape(dims).astype(np.float32) if below is None else \
                random.integers(0, below, dims)
        folder = tmp_path / f"set_{sizes['N']}"
        folder.mkdir()
        for prefix, tensors in (("input", feeds.values()), ("output", session.run(None, feeds))):
            for i, tensor in enumerate(tensors):
                (folder / f"{prefix}_{i}.pb").write_bytes(numpy_helper.from_array(tensor).SerializeToString())
        arbalest("verify", "m.onnx", "--test-data", folder)
