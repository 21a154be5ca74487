"""Runs the program that --arbalest names, in a folder of its own for each test."""
import json
import pathlib
import subprocess

import numpy as np
import pytest

from linear import LinearLayer


def pytest_addoption(parser):
    parser.addoption("--arbalest", required=True, help="the program to test")


def pytest_make_parametrize_id(val):
    return " ".join(map(str, val)) if isinstance(val, tuple) else None  # options by their words


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = pathlib.Path(path).resolve(), folder

    def __call__(self, *arguments):
        """Standard output of a run that must succeed."""
        done = subprocess.run([self.path, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        assert done.returncode == 0, f"arbalest {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *arguments):
        return json.loads(self(*arguments, "--json"))

    def log(self, name="log.jsonl", kind=None):
        """The events of a file that --log wrote, in their order; of one kind only."""
        events = [json.loads(line) for line in (self.folder / name).read_text().splitlines()]
        return [e for e in events if kind in (None, e["event"])]


@pytest.fixture
def arbalest(request, tmp_path):
    return Program(request.config.getoption("--arbalest"), tmp_path)


def images(count, seed):
    """Bytes of count x 1 x 28 x 28 and their class of 10: a bright square whose place tells the class, and noise."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, count)
    pixels = random.integers(0, 120, (count, 1, 28, 28), dtype=np.uint8)
    for i, label in enumerate(labels):
        row, column = divmod(int(label), 4)
        pixels[i, 0, 2 + 9 * row:8 + 9 * row, 1 + 7 * column:6 + 7 * column] += 100
    return pixels, labels


@pytest.fixture
def data(tmp_path):
    """An .npz file with 640 training and 300 test images."""
    x_train, y_train = images(640, seed=1)
    x_test, y_test = images(300, seed=2)
    path = tmp_path / "squares.npz"
    np.savez(path, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
    return path


@pytest.fixture
def layer(arbalest):
    """A linear layer and 8 examples."""
    return LinearLayer(arbalest, examples=8)
