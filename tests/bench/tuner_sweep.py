"""Where `--learners auto` ends, beside a sweep of all numbers of learners and threads, alternating in one run.

    python tuner_sweep.py --arbalest build/arbalest [--models mlp,lenet,resnet32] [--batches 2,16,64] [--rounds 5]
                          [--cores N] [--json FILE]

Each round runs, for each point, `arbalest bench` with every learners x threads within the cores and then with auto. What
auto chose in a round counts with the median that the sweep measured for it: `worst` is the worst choice over the best
configuration. Fails when one is below 0.95.
"""
import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile


def bench(args, model, batch, work, *options):
    path = os.path.join(work, model + ".onnx")
    if not os.path.exists(path):
        subprocess.run([args.arbalest, "new", model, "-o", path], check=True, stdout=subprocess.DEVNULL)
    out = subprocess.run([args.arbalest, "bench", path, "--batch", str(batch), "--sync", args.sync, "--seconds", str(args.seconds), "--json",
                          *options], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["results"][0]


def text(configuration):
    return "{}x{}".format(*configuration)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--arbalest", required=True)
    p.add_argument("--models", default="mlp,lenet,resnet32")
    p.add_argument("--batches", default="2,16,64")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--seconds", type=float, default=0.5)
    p.add_argument("--sync", default="sma")
    p.add_argument("--json")
    args = p.parse_args()
    configurations = [(k, t) for k in range(1, args.cores + 1) for t in range(1, args.cores + 1) if k * t <= args.cores]
    points = [(m, int(b)) for m in args.models.split(",") for b in args.batches.split(",")]
    rates = collections.defaultdict(list)
    tuned = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as work:
        for _ in range(args.rounds):
            for point in points:
                for k, t in configurations:
                    result = bench(args, *point, work, "--learners", str(k), "--threads-per-learner", str(t))
                    rates[point, (k, t)].append(result["images_per_second"])
                tuned[point].append(bench(args, *point, work, "--learners", "auto"))
    print(f"{'model':10} {'batch':>5} " + " ".join(f"{text(c):>9}" for c in configurations) + "  worst  tuning  chosen")
    rows = []
    for point in points:
        medians = {c: statistics.median(rates[point, c]) for c in configurations}
        chosen = collections.Counter((r["learners"], r["threads_per_learner"]) for r in tuned[point])
        worst = min(medians[c] for c in chosen) / max(medians.values())
        seconds = statistics.median(r.get("tuner", [{"seconds": 0}])[-1]["seconds"] for r in tuned[point])
        rows.append({"model": point[0], "batch": point[1], "worst": worst, "tuning_seconds": seconds,
                     "images_per_second": {text(c): m for c, m in medians.items()},
                     "chosen": {text(c): n for c, n in chosen.items()}})
        print(f"{point[0]:10} {point[1]:5} " + " ".join(f"{medians[c]:9.0f}" for c in configurations) +
              f"  {worst:5.3f}  {seconds:4.1f} s  " + ", ".join(f"{text(c)} ({n})" for c, n in chosen.most_common()), flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)
    return 1 if any(row["worst"] < 0.95 for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
