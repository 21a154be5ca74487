"""`--learners auto`: what it chooses is logged, and given as numbers it repeats the run bit for bit."""
import os

import pytest

MANY = ("--epochs", 100000, "--target-accuracy", 0.2)  # long enough to be tuned for, ends after some epochs
COMMON = ("--lr", 0.02, "--seed", 3)


@pytest.fixture
def train(arbalest, data):
    arbalest("new", "lenet", "-o", "model.onnx")

    def run(out, *options):
        batch = () if "--batch" in options else ("--batch", 8)
        text = arbalest("train", "model.onnx", "--data", data, "-o", out, "--log", f"{out}.jsonl", *COMMON, *batch, *options)
        return text, arbalest.log(f"{out}.jsonl")

    return run


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="one core leaves no choice")
def test_the_numbers_that_auto_chose_repeat_the_run(arbalest, train):
    text, events = train("auto.onnx", *MANY)
    start = events[0]
    decisions = [e for e in events if e["event"] == "tuner"]
    assert "tuner" in text and "learners x threads" in text
    assert [decisions[0]["decision"], decisions[-1]["decision"]] == ["start", "settle"]
    assert {"images_per_second", "interval", "windows", "gain", "seconds", "learner_bytes"} <= decisions[0].keys()
    low, high = decisions[0]["interval"]
    assert 0 < low <= decisions[0]["images_per_second"] <= high
    assert (decisions[-1]["learners"], decisions[-1]["threads_per_learner"]) == (start["learners"], start["threads_per_learner"])
    train("given.onnx", *MANY, "--learners", start["learners"], "--threads-per-learner", start["threads_per_learner"])
    assert (arbalest.folder / "auto.onnx").read_bytes() == (arbalest.folder / "given.onnx").read_bytes()


def test_a_short_run_has_one_learner(train):
    _, events = train("short.onnx", "--epochs", 1)
    assert (events[0]["learners"], events[0]["threads_per_learner"]) == (1, 1)


def test_a_resumed_run_keeps_its_learners(arbalest, train):
    train("first.onnx", "--epochs", 2, "--learners", 3, "--checkpoint", "run")
    text, events = train("second.onnx", *MANY, "--checkpoint", "run", "--resume")
    assert "continues" in text and (events[0]["learners"], events[0]["threads_per_learner"]) == (3, 1)
    assert all(e["event"] != "tuner" for e in events)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="one core leaves no choice")
def test_a_resumed_run_with_another_batch_measures_again(arbalest, train):
    train("first.onnx", "--epochs", 1, "--learners", 3, "--checkpoint", "run")
    text, events = train("second.onnx", *MANY, "--batch", 4, "--checkpoint", "run", "--resume")
    decisions = [e for e in events if e["event"] == "tuner"]
    assert [decisions[0]["decision"], decisions[-1]["decision"]] == ["start", "settle"]
    assert decisions[0]["images_per_second"] > 0 and "starts from the model of" in text
    assert (events[0]["learners"], events[0]["threads_per_learner"]) == (
        decisions[-1]["learners"], decisions[-1]["threads_per_learner"])


def test_a_learner_alone_where_others_would_not_count(train):
    _, events = train("none.onnx", *MANY, "--sync", "none")
    assert events[0]["learners"] == 1
