"""What ran when, and in what order it had to: --trace, `inspect --tasks` and --dot, `simulate --trace`."""
import collections
import json
import re
import shutil
import subprocess

import pytest

Span = collections.namedtuple("Span", "name category iteration begin end")
ROUNDING = 0.002  # microseconds, of times written with three decimals

# Options for two learners, and the iterations of 20 in which each kind of task runs.
ALWAYS = range(20)
ALGORITHMS = {
    "sma": (("--sync", "sma", "--learners", 2), {"learn": ALWAYS, "update": ALWAYS, "average": ALWAYS}),
    "sma on two devices": (("--sync", "sma", "--learners", 1, "--devices", 2), {
        "learn": ALWAYS, "update": ALWAYS, "difference": ALWAYS, "all-reduce": ALWAYS, "average": ALWAYS}),
    "ssgd": (("--sync", "ssgd", "--learners", 2), {"learn": ALWAYS, "update": ALWAYS}),
    "local": (("--sync", "local", "--learners", 2, "--tau", 4), {
        "learn": ALWAYS, "update": ALWAYS, "average": range(3, 20, 4)}),
}


def read_trace(path):
    """The spans of each row, by the row's name, in the order of their begin."""
    trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    assert all({"ph", "name", "pid"} <= e.keys() for e in events) and {e["ph"] for e in events} == {"M", "X"}
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert len(set(names.values())) == len(names) and {e["tid"] for e in events if e["ph"] == "X"} == names.keys()
    rows = {name: [] for name in names.values()}
    for e in events:
        if e["ph"] == "X":
            iteration = e.get("args", {}).get("iteration")
            rows[names[e["tid"]]].append(Span(e["name"], e["cat"], iteration, e["ts"], e["ts"] + e["dur"]))
    return {name: sorted(spans, key=lambda s: (s.begin, -s.end)) for name, spans in rows.items()}


def tasks_of(text):
    """The names of the tasks on each stream, as `inspect --tasks` lists them."""
    streams = collections.defaultdict(list)
    for task, stream in re.findall(r"^  \d+ '(.+)' on (.+?)(?:, from level \d+ on)?$", text, re.MULTILINE):
        streams[stream].append(task)
    return dict(streams)


@pytest.fixture
def lenet(arbalest):
    arbalest("new", "lenet", "-o", "model.onnx")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_trace_of_a_run(arbalest, lenet, data, name):
    options, kinds = ALGORITHMS[name]
    arbalest("train", "model.onnx", "--data", data, *options, "--batch", 16, "--epochs", 1, "--trace", "trace.json",
             "--log", "log.jsonl", "-o", "out.onnx")
    rows, tasks = read_trace(arbalest.folder / "trace.json"), tasks_of(arbalest("inspect", "model.onnx", "--tasks", *options))
    end, = arbalest.log(kind="end")
    assert end["iterations"] == 20
    assert rows.keys() == tasks.keys() == {"learner 0", "learner 1"}
    for row, spans in rows.items():
        assert {s.name for s in spans} == {*tasks[row], "input"}
        assert {s.category for s in spans} == {*kinds, "input"}
        for task in tasks[row]:
            iterations = kinds[re.sub(r" \d+$", "", task)]
            assert [s.iteration for s in spans if s.name == task] == list(iterations), task
        inputs, others = ([s for s in spans if (s.name == "input") == wanted] for wanted in (True, False))
        assert all(a.end <= b.begin + ROUNDING for a, b in zip(others, others[1:]))
        learning = [s for s in others if s.category == "learn"]
        assert len(inputs) == len(learning) == 20
        assert all(s.begin - ROUNDING <= i.begin <= i.end <= s.end + ROUNDING for i, s in zip(inputs, learning))


def spans_of(rows, category):
    found = collections.defaultdict(list)
    for spans in rows.values():
        for s in spans:
            if s.category == category:
                found[s.iteration].append(s)
    return found


def test_tasks_run_in_the_order_that_averaging_asks_for(arbalest, lenet, data):
    """z' is of the weights before the update of its iteration, and after that of the iteration before."""
    arbalest("train", "model.onnx", "--data", data, "--sync", "sma", "--learners", 3, "--batch", 4, "--epochs", 1,
             "--trace", "trace.json", "-o", "out.onnx")
    rows = read_trace(arbalest.folder / "trace.json")
    averages, updates = spans_of(rows, "average"), spans_of(rows, "update")
    assert len(averages) == len(updates) == 54  # 640 examples, 12 an iteration
    for t in averages:
        assert max(s.end for s in averages[t]) <= min(s.begin for s in updates[t]) + ROUNDING
        if t > 0:
            assert max(s.end for s in updates[t - 1]) <= min(s.begin for s in averages[t]) + ROUNDING


@pytest.mark.parametrize("name", ALGORITHMS)
def test_drawing(arbalest, lenet, name):
    options, _ = ALGORITHMS[name]
    dot = arbalest("inspect", "model.onnx", "--dot", *options)
    tasks = tasks_of(arbalest("inspect", "model.onnx", "--tasks", *options))
    drawn, label_of, box = collections.defaultdict(list), {}, None
    for line in dot.splitlines():
        if found := re.fullmatch(r'    label="(.+)";', line):
            box = found[1]
        if found := re.fullmatch(r'    (t\d+) \[label="(.+?)(?:, from level \d+ on)?"(?:, style=rounded)?\];', line):
            label_of[found[1]] = found[2]
            drawn[box].append(found[2])
    assert drawn == tasks
    chains = [line for line in dot.splitlines() if "->" in line]
    assert all(re.fullmatch(r" +t\d+( -> t\d+)+( \[style=dashed, constraint=false\])?;", line) for line in chains)
    ends = [(label_of[a], label_of[b], "dashed" in line) for line in chains
            for a, b in zip(re.findall(r"t\d+", line), re.findall(r"t\d+", line)[1:])]
    assert re.match(r"digraph \w+ \{\n", dot) and dot.count("{") == dot.count("}") and dot.endswith("}\n")
    if name == "sma":
        assert {e for e in ends if e[0][-1] != e[1][-1]} == {
            ("average 0", "update 1", False), ("average 1", "update 0", False),
            ("update 0", "average 1", True), ("update 1", "average 0", True)}
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=dot, text=True, check=True, capture_output=True)


def test_program_of_a_stream_runs_its_tasks(arbalest, lenet):
    text = arbalest("inspect", "model.onnx", "--tasks", "--sync", "sma", "--learners", 2)
    synchronising = re.search(r"^programs of level 1\n((?:  .+\n)+)", text, re.MULTILINE)[1]
    programs = dict(re.findall(r"^  (learner \d)\n((?:    .+\n)+)", synchronising, re.MULTILINE))
    assert {stream: re.findall(r"^    run '(.+)'$", program, re.MULTILINE) for stream, program in programs.items()} == tasks_of(text)


def simulated(arbalest, sync, link):
    """30 iterations of two devices with two learners, whose batches take 2 ms."""
    arbalest("simulate", "model.onnx", "--devices", 2, "--learners", 2, "--sync", sync, "--synchronising-stream",
             "--time", "learn=2", "--memory-bandwidth", 100, "--link", link, "--iterations", 30, "--trace", "simulated.json")
    rows = read_trace(arbalest.folder / "simulated.json")
    assert rows.keys() == {f"device {d} {of}" for d in (0, 1) for of in ("learner 0", "learner 1", "synchronisation")}
    for spans in rows.values():
        assert all(a.end <= b.begin + ROUNDING for a, b in zip(spans, spans[1:]))
    kinds = {kind: spans_of(rows, kind) for kind in ("learn", "update", "difference", "all-reduce", "average")}
    assert len(kinds["all-reduce"]) == len(kinds["learn"]) == 30
    return kinds


def begin(spans):
    return min(s.begin for s in spans)


def end(spans):
    return max(s.end for s in spans)


def test_simulated_all_reduce_is_hidden_behind_the_learning_that_follows(arbalest, lenet):
    """At 2 GB/s it takes 0.9 ms: of the weights after an update, while the learners already learn from them."""
    kinds = simulated(arbalest, "sma", "2,5")
    for t in range(1, 30):
        learning = kinds["learn"][t]
        assert begin(kinds["all-reduce"][t]) >= end(kinds["update"][t - 1]) - ROUNDING
        assert all(begin(learning) <= s.begin and s.end <= end(learning) for s in kinds["all-reduce"][t] + kinds["average"][t])


def test_simulated_all_reduce_overlaps_the_next_iteration(arbalest, lenet):
    """At 0.5 GB/s it takes 3.5 ms, longer than an iteration: what waits is the update after the next learning."""
    kinds = simulated(arbalest, "sma", "0.5,5")
    for t in range(1, 29):
        reducing, learning = kinds["all-reduce"][t], kinds["learn"][t + 1]
        assert begin(reducing) < begin(learning) and end(learning) < end(reducing)
        assert begin(kinds["update"][t + 1]) >= end(kinds["average"][t]) - ROUNDING


def test_simulated_all_reduce_of_gradients_delays_the_next_iteration(arbalest, lenet):
    kinds = simulated(arbalest, "ssgd", "2,5")
    for t in range(29):
        assert end(kinds["learn"][t]) <= begin(kinds["all-reduce"][t]) + ROUNDING
        assert end(kinds["all-reduce"][t]) <= begin(kinds["learn"][t + 1]) + ROUNDING
