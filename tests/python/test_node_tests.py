"""ONNX's own tests (the data of the onnx wheel): every case of opset 7 or newer passes, or stands in node_test_failures.txt
with the reason."""
import collections
import concurrent.futures
import fnmatch
import os
import pathlib
import subprocess

import onnx
import pytest

DATA = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
FAILURES = pathlib.Path(__file__).parent / "node_test_failures.txt"
OLDEST_OPSET = 7
LEAST_PASS_RATE = 0.97

Failure = collections.namedtuple("Failure", "pattern reason out_of_scope")
Result = collections.namedtuple("Result", "name passed message")


def expected_failures():
    """Lines "PATTERN  REASON", below a line "[out of scope]" or "[failing]"."""
    failures, section = [], None
    for line in FAILURES.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line.strip("[]")
            assert section in ("out of scope", "failing"), line
        elif line:
            pattern, reason = line.split(maxsplit=1)
            failures.append(Failure(pattern, reason, section == "out of scope"))
    return failures


def is_new_enough(model):
    opsets = {o.domain: o.version for o in onnx.load(model, load_external_data=False).opset_import}
    return opsets.get("", OLDEST_OPSET) >= OLDEST_OPSET


def cases():
    folders = sorted(model.parent for kind in KINDS for model in (DATA / kind).glob("*/model.onnx"))
    assert folders, f"{DATA}: no test data; onnx 1.22 has them in its wheel"
    return [folder for folder in folders if is_new_enough(folder / "model.onnx")]


@pytest.fixture(scope="module")
def results(request):
    program = pathlib.Path(request.config.getoption("--arbalest")).resolve()

    def run(folder):
        data = sorted(folder.glob("test_data_set_*"))
        command = [program, "verify", folder / "model.onnx", "--test-data", *data]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return Result(folder.name, False, "takes more than a minute")
        return Result(folder.name, done.returncode == 0, (done.stdout + done.stderr).strip())

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(run, cases()))


def first(failures, name):
    return next((f for f in failures if fnmatch.fnmatchcase(name, f.pattern)), None)


def test_all_but_the_expected_failures_pass(results):
    failures = expected_failures()
    wrong = [f"{r.name}\n{r.message}" for r in results if not r.passed and not first(failures, r.name)]
    assert not wrong, f"{len(wrong)} of {len(results)} cases fail:\n" + "\n".join(wrong)


def test_expected_failures_fail(results):
    failures = expected_failures()
    passing = [r.name for r in results if r.passed and first(failures, r.name)]
    assert not passing, f"these pass; strike them off {FAILURES.name}: {', '.join(passing)}"
    useless = [f.pattern for f in failures if not any(first(failures, r.name) == f for r in results)]
    assert not useless, f"{FAILURES.name}: no case matches {', '.join(useless)}"


def test_pass_rate(results, capsys):
    failures = expected_failures()
    listed = [first(failures, r.name) for r in results]
    in_scope = [r for r, failure in zip(results, listed) if not (failure and failure.out_of_scope)]
    passed = sum(r.passed for r in in_scope)
    with capsys.disabled():
        print(f"\n{passed} of {len(in_scope)} ONNX tests pass ({100 * passed / len(in_scope):.1f} %), "
              f"{len(results) - len(in_scope)} out of scope")
    assert passed >= LEAST_PASS_RATE * len(in_scope)
