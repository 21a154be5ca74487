"""A run that is killed at any moment goes on from its checkpoints and ends with the same bits."""
import json
import pathlib
import random
import signal
import subprocess
import time

import pytest

OPTIONS = ("--data", "squares.npz", "--learners", "2", "--batch", "4", "--epochs", "6", "--seed", "5", "--optimiser", "adam", "--lr", "0.002",
           "--schedule", "cosine", "--checkpoint-every", "0.05")


@pytest.fixture
def run(arbalest, data):
    arbalest("new", "lenet", "-o", "model.onnx")
    return lambda out, *more: ("train", "model.onnx", "-o", out, *OPTIONS, *more)


@pytest.mark.parametrize("more", [(), ("--keep-best",), ("--ema", "0.9", "--ema-every", "3"), ("--swa-from", "2", "--swa-every", "0.7", "--keep-best")])
def test_killed_ten_times(arbalest, run, more):
    arbalest(*run("whole.onnx", *more))
    moments = random.Random(3)
    command = [arbalest.path, *run("parts.onnx", "--checkpoint", "run", "--resume", *more)]
    for _ in range(10):
        process = subprocess.Popen(command, cwd=arbalest.folder, stdout=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.2, 0.9))
        process.kill()
        process.wait()
    arbalest(*run("parts.onnx", "--checkpoint", "run", "--resume", *more))
    assert (arbalest.folder / "parts.onnx").read_bytes() == (arbalest.folder / "whole.onnx").read_bytes()


def test_interrupt_writes_one_and_damage_is_stepped_over(arbalest, run):
    arbalest(*run("whole.onnx"))
    arguments = run("parts.onnx", "--checkpoint", "run", "--keep-checkpoints", "3")
    process = subprocess.Popen([arbalest.path, *arguments], cwd=arbalest.folder, stdout=subprocess.PIPE, text=True)
    while len(list(arbalest.folder.glob("run/*.arbalest"))) < 2 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert "stopped by a signal" in process.communicate()[0]
    newest = sorted(arbalest.folder.glob("run/*.arbalest"))[-1]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 4
    newest.write_bytes(content)
    text = arbalest(*run("parts.onnx", "--checkpoint", "run", "--resume"))
    assert "damaged" in text and newest.name in text and "continues" in text
    assert (arbalest.folder / "parts.onnx").read_bytes() == (arbalest.folder / "whole.onnx").read_bytes()


def test_other_learners_start_from_the_model(arbalest, run):
    arbalest(*run("two.onnx", "--checkpoint", "run"))
    arguments = [a if a != "2" else "3" for a in run("three.onnx", "--checkpoint", "run", "--resume", "--log", "log.jsonl")]
    arguments[arguments.index("--epochs") + 1] = "8"
    assert "starts from the model of" in arbalest(*arguments)
    events = [json.loads(line) for line in pathlib.Path(arbalest.folder / "log.jsonl").read_text().splitlines()]
    assert events[0]["iteration"] == 6 * 640 // 12 and events[1]["loss"] < 1


def test_a_newer_format_and_another_model_are_refused(arbalest, run):
    arbalest(*run("two.onnx", "--checkpoint", "run"))
    arbalest("new", "mlp", "-o", "other.onnx")
    other = [a if a != "model.onnx" else "other.onnx" for a in run("x.onnx", "--checkpoint", "run", "--resume")]
    failed = subprocess.run([arbalest.path, *other], cwd=arbalest.folder, capture_output=True, text=True)
    assert failed.returncode == 2 and "another model" in failed.stderr
    for path in arbalest.folder.glob("run/*.arbalest"):
        content = bytearray(path.read_bytes())
        content[20] = 99
        path.write_bytes(content)
    failed = subprocess.run([arbalest.path, *run("x.onnx", "--checkpoint", "run", "--resume")], cwd=arbalest.folder, capture_output=True, text=True)
    assert failed.returncode == 1 and "version 99" in failed.stderr and "newer" in failed.stderr
