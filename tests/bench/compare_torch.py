"""Training throughput of Arbalest beside PyTorch, alternating in one run.

    python compare_torch.py --arbalest build/arbalest --peers DIR [--models mlp,lenet,resnet32] [--batches 2,16,64]
                            [--rounds 3] [--learners 2] [--json FILE]

DIR holds bench_torch.py and its models.py. Each round runs, for each point, Arbalest with SMA and then PyTorch with one
thread, with two threads and with two processes of one thread; the medians over the rounds are compared. PyTorch's best of
the three counts. Needs torch in the Python that runs this script.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile


def arbalest(args, model, batch, work):
    path = os.path.join(work, model + ".onnx")
    if not os.path.exists(path):
        subprocess.run([args.arbalest, "new", model, "-o", path], check=True, stdout=subprocess.DEVNULL)
    out = subprocess.run([args.arbalest, "bench", path, "--batch", str(batch), "--learners", str(args.learners), "--sync", "sma",
                          "--seconds", str(args.seconds), "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["results"][0]["images_per_second"]


def torch(args, model, batch, *options):
    out = subprocess.run([sys.executable, os.path.join(args.peers, "bench_torch.py"), "--models", model, "--batches", str(batch),
                          "--seconds", str(args.seconds), *options], check=True, capture_output=True, text=True,
                         env={k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}).stdout
    return float(re.search(r"([\d.]+) images/s", out).group(1))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--arbalest", required=True)
    p.add_argument("--peers", required=True)
    p.add_argument("--models", default="mlp,lenet,resnet32")
    p.add_argument("--batches", default="2,16,64")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--learners", type=int, default=2)
    p.add_argument("--seconds", type=float, default=1.0)
    p.add_argument("--json")
    args = p.parse_args()
    contenders = {
        "arbalest": lambda m, b, w: arbalest(args, m, b, w),
        "1 thread": lambda m, b, w: torch(args, m, b, "--threads", "1"),
        "2 threads": lambda m, b, w: torch(args, m, b, "--threads", "2"),
        "2 processes": lambda m, b, w: torch(args, m, b, "--procs", "2", "--threads", "1"),
    }
    points = [(m, int(b)) for m in args.models.split(",") for b in args.batches.split(",")]
    rates = {(point, c): [] for point in points for c in contenders}
    with tempfile.TemporaryDirectory() as work:
        for _ in range(args.rounds):
            for point in points:
                for name, measure in contenders.items():
                    rates[point, name].append(measure(*point, work))
    print(f"{'model':10} {'batch':>5} " + " ".join(f"{c:>12}" for c in contenders) + f" {'ratio':>7}")
    rows = []
    for point in points:
        medians = {c: statistics.median(rates[point, c]) for c in contenders}
        best = max(v for c, v in medians.items() if c != "arbalest")
        ratio = medians["arbalest"] / best
        rows.append({"model": point[0], "batch": point[1], "ratio": ratio, **medians})
        print(f"{point[0]:10} {point[1]:5} " + " ".join(f"{medians[c]:12.0f}" for c in contenders) + f" {ratio:7.2f}", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
