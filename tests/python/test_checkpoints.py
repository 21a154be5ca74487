"""A run that is killed at any moment goes on from its checkpoints and ends with the same bits, and tells the same."""
import random
import signal
import subprocess
import time
import zlib

import numpy as np
import pytest
from onnx import helper

from linear import save_model
from test_errors import fails, misused

# 640 examples, 8 a step: 80 iterations an epoch
OPTIONS = ("--data", "squares.npz", "--learners", "2", "--batch", "4", "--epochs", "6", "--seed", "5", "--optimiser", "adam", "--lr", "0.002",
           "--schedule", "cosine", "--evaluate-every", "0.5")
CHECKPOINTS = ("--checkpoint", "run", "--checkpoint-every", "0.05")


def dropout_model(path):
    """A multilayer perceptron whose Dropout draws other numbers in every iteration."""
    draw = np.random.default_rng(1)
    weight = lambda *dims: (0.1 * draw.standard_normal(dims)).astype(np.float32)
    tensors = {"w1": weight(784, 512), "w2": weight(512, 10), "ratio": np.array(0.5, np.float32), "yes": np.array(True)}
    nodes = [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("MatMul", ["f", "w1"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Dropout", ["r", "ratio", "yes"], ["d"]), helper.make_node("MatMul", ["d", "w2"], ["y"])]
    save_model(path, nodes, {"x": [1, 28, 28]}, {"y": [10]}, tensors)


def last_of_each(options):
    """The options without those that are given again later."""
    groups = {}
    for text in map(str, options):
        if text.startswith("--"):
            name = text
            groups[name] = []
        else:
            groups[name].append(text)
    return [text for name, values in groups.items() for text in (name, *values)]


@pytest.fixture
def run(arbalest, data):
    arbalest("new", "lenet", "-o", "model.onnx")
    dropout_model(arbalest.folder / "dropout.onnx")
    return lambda out, *more, model="model.onnx": ("train", model, "-o", out, *last_of_each((*OPTIONS, *more)))


def bits(arbalest, name):
    return (arbalest.folder / name).read_bytes()


def checkpoints(arbalest):
    return sorted(arbalest.folder.glob("run/*.arbalest"))


def events(arbalest, name, *kinds):
    """Of a log, without what depends on the clock: its times, and how the losses in a mean were grouped."""
    timed = ("seconds", "images_per_second", "evaluation_seconds")
    return [{k: round(v, 12) if isinstance(v, float) else v for k, v in e.items() if k not in timed} for e in arbalest.log(name) if e["event"] in kinds]


def kill_while_writing(process, folder):
    """True when the process was killed while a checkpoint was being written, or just before or after."""
    while process.poll() is None:
        if next(folder.glob("run/.arbalest-*.tmp"), None):
            process.kill()
            return True
    return False


STEPS = ("--schedule", "step", "--step", "1.5", "--gamma", "0.5")
PLATEAU = ("--schedule", "plateau", "--patience", "1", "--early-stop", "6", "--lr", "0.05")


@pytest.mark.parametrize("model, more", [
    ("model.onnx", ("--keep-best", "--evaluate-every", "30it", "--top-k", "2", "--confusion")),
    ("model.onnx", (*PLATEAU, "--keep-best")),
    ("model.onnx", (*STEPS, "--accumulate", "2", "--ema", "0.9", "--ema-every", "3")),
    ("model.onnx", ("--swa-from", "2", "--swa-every", "0.7", "--keep-best")),
    ("dropout.onnx", ("--dropout", "--sync", "local", "--tau", "3")),
])
def test_killed_ten_times(arbalest, run, model, more):
    arbalest(*run("whole.onnx", "--log", "whole.jsonl", *more, model=model))
    moments = random.Random(3)
    parts = run("parts.onnx", *CHECKPOINTS, "--resume", "--log", "parts.jsonl", *more, model=model)
    killed = 0
    for i in range(10):
        process = subprocess.Popen([arbalest.path, *parts], cwd=arbalest.folder, stdout=subprocess.DEVNULL)
        if i % 2:
            kill_while_writing(process, arbalest.folder)
        else:
            time.sleep(moments.uniform(0.05, 0.25))
            process.kill()
        killed += process.wait() == -signal.SIGKILL
    assert killed >= 5
    arbalest(*parts)
    assert bits(arbalest, "parts.onnx") == bits(arbalest, "whole.onnx")
    assert events(arbalest, "parts.jsonl", "progress", "epoch") == events(arbalest, "whole.jsonl", "progress", "epoch")
    assert len(checkpoints(arbalest)) == 2 and not list(arbalest.folder.glob("run/.arbalest*"))


def test_interrupt_writes_one_and_damage_is_stepped_over(arbalest, run):
    arbalest(*run("whole.onnx"))
    process = subprocess.Popen([arbalest.path, *run("parts.onnx", *CHECKPOINTS, "--keep-checkpoints", "3")], cwd=arbalest.folder, stdout=subprocess.PIPE, text=True)
    while len(checkpoints(arbalest)) < 2 and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGTERM)
    assert "by a signal" in process.communicate()[0]
    newest = checkpoints(arbalest)[-1]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 4
    newest.write_bytes(content)
    text = arbalest(*run("parts.onnx", *CHECKPOINTS, "--resume"))
    assert "damaged" in text and newest.name in text and "continues" in text
    assert bits(arbalest, "parts.onnx") == bits(arbalest, "whole.onnx")


def test_a_run_that_ends_early_writes_one(arbalest, run):
    """Also where none was due: the run can go on."""
    whole = run("whole.onnx", "--log", "whole.jsonl", "--schedule", "constant")
    arbalest(*whole)
    first = events(arbalest, "whole.jsonl", "epoch")[0]
    options = ("--schedule", "constant", "--checkpoint", "run", "--checkpoint-every", "100", "--log", "parts.jsonl")
    text = arbalest(*run("parts.onnx", *options, "--target-accuracy", first["accuracy"]))
    assert "by --target-accuracy" in text
    assert [e["iteration"] for e in events(arbalest, "parts.jsonl", "epoch")] == [40]
    text = arbalest(*run("parts.onnx", *options, "--target-accuracy", first["accuracy"], "--resume"))
    assert "stopped after iteration 40 by --target-accuracy" in text  # as before
    text = arbalest(*run("parts.onnx", *options, "--resume"))
    assert "continues" in text and "--target-accuracy left out (was" in text
    assert bits(arbalest, "parts.onnx") == bits(arbalest, "whole.onnx")
    assert events(arbalest, "parts.jsonl", "epoch") == events(arbalest, "whole.jsonl", "epoch")


@pytest.mark.parametrize("learners, batch", [(3, 4), (1, 4), (2, 16)])
def test_other_learners_start_from_the_model(arbalest, run, data, learners, batch):
    """With the evaluations so far, the best of them, and the state of the schedule."""
    more = ("--schedule", "plateau", "--patience", "1", "--keep-best", "--early-stop", "50")
    arbalest(*run("two.onnx", *CHECKPOINTS, "--log", "all.jsonl", *more))
    model = arbalest.json("eval", "two.onnx", "--data", data)
    arguments = run("more.onnx", *CHECKPOINTS, "--resume", "--log", "all.jsonl", *more, "--epochs", 8, "--learners", learners, "--batch", batch)
    assert "starts from the model of" in arbalest(*arguments)
    evaluations = events(arbalest, "all.jsonl", "epoch")
    before, after = evaluations[:12], evaluations[12:]
    assert [e["epoch"] for e in before] == [(i + 1) / 2 for i in range(12)]
    progress = events(arbalest, "all.jsonl", "progress")
    assert [e["epoch"] for e in progress] == sorted({e["epoch"] for e in progress}) and progress[119]["epoch"] == 6
    start = events(arbalest, "all.jsonl", "start")[1]
    iterations = [-(-examples // (learners * batch)) for examples in (6 * 640, 6.5 * 640, 7 * 640, 7.5 * 640, 8 * 640)]
    assert [e["epoch"] for e in after] == [6.5, 7, 7.5, 8] and [e["iteration"] for e in after] == iterations[1:]
    assert start["iteration"] == 6 * 640 // (learners * batch)
    assert after[0]["learning_rate"] <= before[-1]["learning_rate"]  # what plateau lowered stays low
    best = max(e["accuracy"] for e in before + after)
    assert arbalest.json("eval", "more.onnx", "--data", data)["accuracy"] == best >= model["accuracy"]
    text = arbalest(*arguments)
    assert "continues" in text and len(checkpoints(arbalest)) == 2


def test_the_average_of_the_model_outlives_other_learners(arbalest, run):
    average = ("--ema", "0.9", "--checkpoint", "run")
    arbalest(*run("one.onnx", *average))
    assert "starts from the model" in arbalest(*run("two.onnx", *average, "--resume", "--learners", 1))
    assert bits(arbalest, "one.onnx") == bits(arbalest, "two.onnx")  # nothing was left to train
    assert "begins anew" in arbalest(*run("two.onnx", *average, "--resume", "--ema", "0.8"))


def test_a_log_that_is_no_file(arbalest, run):
    arguments = run("two.onnx", *CHECKPOINTS, "--epochs", 1, "--log", "/dev/stdout")
    assert '"event":"end"' in arbalest(*arguments)
    assert '"event":"end"' in arbalest(*arguments, "--resume")
    (arbalest.folder / "notes").write_text("no newline")
    assert "is no log" in fails(arbalest, *run("two.onnx", *CHECKPOINTS, "--epochs", 1, "--log", "notes", "--resume"))
    assert (arbalest.folder / "notes").read_text() == "no newline"


def test_other_options_are_told(arbalest, run):
    arbalest(*run("two.onnx", *CHECKPOINTS))
    again = lambda *more: arbalest(*run("two.onnx", *CHECKPOINTS, "--resume", *more))
    assert "other options" not in again()
    text = again("--lr", "0.01", "--weight-decay", "0.1")
    assert "continues" in text and "--lr 0.01 (was 0.002)" in text and "--weight-decay 0.1 (was left out)" in text
    assert "starts from the model" in again("--optimiser", "sgd")


def test_a_newer_format_another_model_and_a_used_folder_are_refused(arbalest, run):
    arbalest(*run("two.onnx", *CHECKPOINTS))
    arbalest("new", "mlp", "-o", "other.onnx")
    assert "another model" in fails(arbalest, *run("x.onnx", *CHECKPOINTS, "--resume", model="other.onnx"), code=2)
    assert "would be lost" in fails(arbalest, *run("x.onnx", *CHECKPOINTS, "--resume", "--freeze", "*conv1*"), code=2)
    assert "--resume goes on with it" in fails(arbalest, *run("x.onnx", *CHECKPOINTS), code=2)
    assert "--resume requires --checkpoint" in misused(arbalest, *run("x.onnx", "--resume"))
    assert "--checkpoint: is empty" in misused(arbalest, *run("x.onnx", "--checkpoint", "", "--resume"))
    for path in checkpoints(arbalest):
        content = bytearray(path.read_bytes())
        content[20] = 99
        content[-4:] = zlib.crc32(content[:-4]).to_bytes(4, "little")
        path.write_bytes(content)
    message = fails(arbalest, *run("x.onnx", *CHECKPOINTS, "--resume"))
    assert "version 99" in message and "newer" in message
