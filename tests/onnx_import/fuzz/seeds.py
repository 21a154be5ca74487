#!/usr/bin/env python3
"""Makes the fuzzer's seeds from the node tests of the onnx package: two small models for each operator, with the test's
inputs as initializers where they are integers (shapes, axes, indices, counts).

    tests/onnx_import/fuzz/seeds.py tests/onnx_import/fuzz/corpus
"""
import collections
import pathlib
import sys

import onnx
import onnx.backend.test
from onnx import numpy_helper

OF_EACH_OPERATOR = 2
MOST_BYTES = 1500


def seed(folder):
    model = onnx.load(folder / "model.onnx")
    data = folder / "test_data_set_0"
    for i, value in enumerate(list(model.graph.input)):
        path = data / f"input_{i}.pb"
        if not value.type.HasField("tensor_type") or not path.exists():
            continue
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        if tensor.data_type == onnx.TensorProto.INT64 and numpy_helper.to_array(tensor).size <= 16:
            tensor.name = value.name
            model.graph.initializer.append(tensor)
            model.graph.input.remove(value)
    return model.SerializeToString()


def main(out):
    out.mkdir(parents=True, exist_ok=True)
    counts = collections.Counter()
    for folder in sorted((pathlib.Path(onnx.backend.test.__file__).parent / "data" / "node").iterdir()):
        if not (folder / "model.onnx").exists() or folder.name.endswith("_expanded"):
            continue
        operators = {node.op_type for node in onnx.load(folder / "model.onnx").graph.node}
        bytes_ = seed(folder)
        if len(bytes_) > MOST_BYTES or all(counts[op] >= OF_EACH_OPERATOR for op in operators):
            continue
        counts.update(operators)
        (out / f"{folder.name}.onnx").write_bytes(bytes_)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
