"""Weights of 16 and 64 bits: they train in float32 and are written in their own type."""
import numpy as np
import pytest
from onnx import TensorProto

from linear import LinearLayer, read_tensors

RATE, MOMENTUM, STEPS = 0.0004, 0.5, 200
TYPES = {"float16": (TensorProto.FLOAT16, 2.0 ** -11), "bfloat16": (TensorProto.BFLOAT16, 2.0 ** -8),
         "float64": (TensorProto.DOUBLE, 1e-6)}  # and the greatest relative error of rounding


def run(layer, learners, *options):
    """STEPS steps of batches of 2 from 8 equal examples: every learner has the gradient of all of them."""
    return layer.train("--learners", learners, "--batch", 2, "--epochs", STEPS * learners // 4, "--lr", RATE,
                       "--momentum", MOMENTUM, *options, out=f"{learners}.onnx")


def expected(layer, k=1, alpha=0.0, mu=0.0):
    """The central model of k equal learners, or with alpha 0 a learner."""
    w = z = before = layer.start
    v = 0
    for _ in range(STEPS):
        v = MOMENTUM * v + layer.gradient(w)
        w, z, before = w - RATE * v - alpha * (w - z), z + k * alpha * (w - z) + mu * (z - before), z
    return z if alpha else w


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("sync", ("ssgd", "sma"))
def test_small_steps_add_up(arbalest, name, sync):
    element, rounding = TYPES[name]
    layer = LinearLayer(arbalest, examples=8, element=element, equal=True)
    reached = expected(layer) if sync == "ssgd" else expected(layer, k=2, alpha=0.5, mu=0.9)
    step, moved = np.abs(RATE * layer.gradient(layer.start)), np.abs(reached - layer.start)
    lost = rounding * np.abs(layer.start)  # the steps that a type of 16 bits would not notice
    assert element == TensorProto.DOUBLE or np.any((step < lost / 2) & (moved > 4 * lost))
    assert run(layer, 2, "--sync", sync) == pytest.approx(reached, rel=1.1 * rounding, abs=1e-6)
    before, after = (read_tensors(arbalest.folder / file) for file in ("linear.onnx", "2.onnx"))
    assert {n: t.dtype for n, t in before.items()} == {n: t.dtype for n, t in after.items()}


@pytest.mark.parametrize("name", TYPES)
def test_two_learners_are_one_where_all_examples_are_equal(arbalest, name):
    layer = LinearLayer(arbalest, examples=8, element=TYPES[name][0], equal=True)
    run(layer, 1)
    run(layer, 2, "--sync", "ssgd")
    assert (arbalest.folder / "2.onnx").read_bytes() == (arbalest.folder / "1.onnx").read_bytes()
