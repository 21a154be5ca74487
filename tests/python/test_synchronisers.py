"""Algorithms that keep learners together, on a linear layer: beside their equations in double precision."""
import numpy as np
import pytest

from linear import RATE

MOMENTUM, ITERATIONS = 0.5, 16


@pytest.fixture
def order(arbalest, layer):
    """The examples of the first 64 batches of one, told by their losses while nothing changes. Learner j of k has in
    iteration t the batch t k + j."""
    layer.train("--batch", 1, "--lr", 0, "--epochs", 8, "--log", "order.jsonl", "--log-every", 1 / 8)
    losses = [e["loss"] for e in arbalest.log("order.jsonl", kind="progress")]
    distances = np.abs(np.array(losses)[:, None] - layer.losses(layer.start))
    assert distances.min(axis=1).max() < 1e-5 and np.sort(distances, axis=1)[:, 1].min() > 1e-3
    examples = np.argmin(distances, axis=1)
    assert sorted(examples) == sorted([*range(8)] * 8)
    return examples


def trained(layer, order, k, synchronise):
    """Weights (k x parameters) after own steps of k learners; synchronise(iteration, weights, momenta) follows each."""
    w, v = np.tile(layer.start, (k, 1)), np.zeros((k, layer.start.size))
    for t in range(ITERATIONS):
        for j in range(k):
            v[j] = MOMENTUM * v[j] + layer.gradient(w[j], [order[t * k + j]])
            w[j] -= RATE * v[j]
        synchronise(t, w, v)
    return w


def run(layer, k, *options, devices=1):
    several = ("--devices", devices) if devices > 1 else ()
    return layer.train("--learners", k // devices, "--batch", 1, "--epochs", ITERATIONS * k // 8, "--momentum", MOMENTUM, *several,
                       *options)


@pytest.mark.parametrize("devices", (1, 2))
@pytest.mark.parametrize("options, clip", (
    ((), lambda g: g),
    (("--clip-value", 0.4), lambda g: np.clip(g, -0.4, 0.4)),
    (("--clip-norm", 0.9), lambda g: g * min(1, 0.9 / np.linalg.norm(g)))))
def test_synchronous_sgd(layer, order, options, clip, devices):
    """A step with the mean of the gradients, which is what is clipped."""
    w, v = layer.start, 0
    for t in range(ITERATIONS):
        v = MOMENTUM * v + clip(layer.gradient(w, order[4 * t:4 * t + 4]))
        w = w - RATE * v
    assert run(layer, 4, "--sync", "ssgd", *options, devices=devices) == pytest.approx(w, abs=1e-5)


def apply_to_states(how, v):
    if how == "average":
        v[:] = v.mean(axis=0)
    if how == "clear":
        v[:] = 0


def every(tau):
    return lambda t: t % tau == tau - 1


def means(synchronises, states="keep"):
    def synchronise(t, w, v):
        if synchronises(t):
            w[:] = w.mean(axis=0)
            apply_to_states(states, v)

    return synchronise


@pytest.mark.parametrize("k", (2, 4))
@pytest.mark.parametrize("options, synchronise", (
    (("--tau", 4), means(every(4))),
    (("--tau", 5), means(every(5))),
    (("--tau", "1,6:4"), means(lambda t: t < 6 or t in (9, 13))),
    (("--tau", 4, "--states-at-sync", "keep"), means(every(4))),
    (("--tau", 4, "--states-at-sync", "average"), means(every(4), "average")),
    (("--tau", 4, "--states-at-sync", "clear"), means(every(4), "clear"))))
def test_local(layer, order, options, synchronise, k):
    expected = trained(layer, order, k, synchronise).mean(axis=0)
    apart = trained(layer, order, k, lambda t, w, v: None).mean(axis=0)
    assert np.abs(expected - apart).max() > 1e-3  # synchronising matters
    assert run(layer, k, "--sync", "local", *options) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("states", ("keep", "average", "clear"))
@pytest.mark.parametrize("global_every", (1, 3))
def test_hierarchical(layer, order, global_every, states):
    """Two devices of two learners: means inside a device every 2 iterations, of all in every third of them."""
    def synchronise(t, w, v):
        if t % 2 == 1:
            groups = [slice(0, 4)] if (t + 1) // 2 % global_every == 0 else [slice(0, 2), slice(2, 4)]
            for group in groups:
                w[group] = w[group].mean(axis=0)
                apply_to_states(states, v[group])

    expected = trained(layer, order, 4, synchronise).mean(axis=0)
    found = run(layer, 4, "--sync", "hierarchical", "--tau", 2, "--global-every", global_every, "--states-at-sync", states,
                devices=2)
    assert found == pytest.approx(expected, abs=1e-5)


class Outer:
    """Every 4 iterations a step with momentum from the common model z towards the mean of the learners."""

    def __init__(self, z, rate, momentum, nesterov, scale, states):
        self.z, self.u = z, np.zeros_like(z)
        self.rate, self.momentum, self.nesterov, self.scale, self.states = rate, momentum, nesterov, scale, states

    def __call__(self, t, w, v):
        if t % 4 == 3:
            d = (self.z - w.mean(axis=0)) / self.scale
            self.u = self.momentum * self.u + d
            self.z = self.z - self.rate * self.scale * (d + self.momentum * self.u if self.nesterov else self.u)
            w[:] = self.z
            apply_to_states(self.states, v)


@pytest.mark.parametrize("sync, defaults", (("slowmo", (1, 0.7, "clear")), ("diloco", (0.7, 0.9, "keep"))))
@pytest.mark.parametrize("given", (
    {}, {"--outer-lr": 0.8, "--outer-momentum": 0.3}, {"--outer-lr": 0.5, "--states-at-sync": "average"}))
def test_outer_steps(layer, order, sync, defaults, given):
    rate, momentum, states = (given.get(name, default)
                              for name, default in zip(("--outer-lr", "--outer-momentum", "--states-at-sync"), defaults))
    outer = Outer(layer.start, rate, momentum, sync == "diloco", RATE if sync == "slowmo" else 1, states)
    trained(layer, order, 2, outer)
    found = run(layer, 2, "--sync", sync, "--tau", 4, *(x for pair in given.items() for x in pair))
    assert found == pytest.approx(outer.z, abs=1e-5)


@pytest.mark.parametrize("devices", (1, 2))
@pytest.mark.parametrize("options, alpha, mu, tau", (
    (("--sync", "sma"), 1 / 4, 0.9, 1),
    (("--sync", "sma", "--alpha", 0.3, "--central-momentum", 0.5, "--tau", 3), 0.3, 0.5, 3),
    (("--sync", "easgd"), 0.9 / 4, 0, 1),
    (("--sync", "easgd", "--alpha", 0.1, "--tau", 2), 0.1, 0, 2)))
def test_central_average(layer, order, options, alpha, mu, tau, devices):
    """Both sides of a pull are those at the start of the iteration."""
    w, v = np.tile(layer.start, (4, 1)), np.zeros((4, layer.start.size))
    z = before = layer.start
    for t in range(ITERATIONS):
        pull = alpha * (w - z) if every(tau)(t) else np.zeros_like(w)
        v = MOMENTUM * v + [layer.gradient(w[j], [order[4 * t + j]]) for j in range(4)]
        w = w - RATE * v - pull
        if every(tau)(t):
            z, before = z + pull.sum(axis=0) + mu * (z - before), z
    assert run(layer, 4, *options, devices=devices) == pytest.approx(z, abs=1e-5)
