"""What a trained model may differ in from the model that was read, and what a runtime makes of it."""
import numpy as np
import onnx
import onnxruntime


def normalised(images, training_images):
    """Per channel, with the statistics of the training images; bytes count as x / 255."""
    channels = training_images.astype(np.float64) / 255
    mean = channels.mean(axis=(0, 2, 3), keepdims=True)
    deviation = channels.std(axis=(0, 2, 3), keepdims=True)
    return ((images.astype(np.float64) / 255 - mean) / deviation).astype(np.float32)


def run(path, inputs, batch=100):
    """The first output of onnxruntime for the whole of inputs."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    parts = [session.run(None, {name: inputs[i:i + batch]})[0] for i in range(0, len(inputs), batch)]
    return np.concatenate(parts)


def cross_entropy(logits, labels):
    logits = logits.astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(labels)), labels]))


def tensors(model):
    """The stored tensors by name: initializers, and the values of Constant nodes by the name of their output."""
    found = {t.name: t for t in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            found.update({node.output[0]: a.t for a in node.attribute if a.name == "value"})
    return found


def running_statistics(model):
    """Names of the tensors that BatchNormalization nodes keep mean and variance in."""
    return {name for node in model.graph.node if node.op_type == "BatchNormalization" for name in node.input[3:5]}


DATA_FIELDS = ("raw_data", "float_data", "double_data", "int32_data", "int64_data")


def differences(a, b, path=""):
    """Paths of the fields in which two messages differ, unknown fields left to the byte comparison of the caller."""
    if a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True):
        return []
    found = []
    for field in a.DESCRIPTOR.fields:
        here = f"{path}.{field.name}" if path else field.name
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED:
            if len(x) != len(y):
                found.append(f"{here}: {len(x)} and {len(y)} elements")
            elif field.message_type is None:
                found += [here] if list(x) != list(y) else []
            else:
                for i, (p, q) in enumerate(zip(x, y)):
                    found += differences(p, q, f"{here}[{i}]")
        elif field.message_type is not None:
            found += differences(x, y, here) if a.HasField(field.name) == b.HasField(field.name) else [here]
        elif x != y:
            found.append(here)
    return found or [path or "unknown fields"]


def assert_only_these_changed(before_path, after_path, names):
    """Every named tensor has other values, of the same type, shape and encoding; all else is equal."""
    before, after = onnx.load(before_path), onnx.load(after_path)
    old, new = tensors(before), tensors(after)
    assert list(old) == list(new)
    assert names <= set(old)
    for name in names:
        assert [f for f in DATA_FIELDS if getattr(old[name], f)] == [f for f in DATA_FIELDS if getattr(new[name], f)], name
        values = onnx.numpy_helper.to_array(old[name]), onnx.numpy_helper.to_array(new[name])
        assert values[0].shape == values[1].shape and values[0].dtype == values[1].dtype, name
        assert not np.array_equal(*values), f"{name} did not change"
        assert np.isfinite(values[1].astype(np.float64)).all(), name
        for tensor in (old[name], new[name]):
            for field in DATA_FIELDS:
                tensor.ClearField(field)
    assert differences(before, after) == []
