"""What keeping two learners together costs: throughput with SMA beside that of two learners on their own, alternating.

    python synchronisation_cost.py --arbalest build/arbalest [--rounds 5] [--seconds 2] [--sync sma]

Prints the medians and the cost, 1 - synchronised / unsynchronised, which is the median over the rounds. Fails when a cost
is beyond its limit.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

POINTS = [("resnet32", 16, 0.08), ("lenet", 2, 0.25)]  # model, batch of a learner, greatest cost


def rate(args, path, batch, sync):
    out = subprocess.run([args.arbalest, "bench", path, "--batch", str(batch), "--sync", sync, "--learners", "2",
                          "--threads-per-learner", "1", "--seconds", str(args.seconds), "--json"],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["results"][0]["images_per_second"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--arbalest", required=True)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--sync", default="sma")
    args = p.parse_args()
    failed = False
    print(f"{'model':10} {'batch':>5} {'none':>9} {args.sync:>9}   cost  limit")
    with tempfile.TemporaryDirectory() as work:
        for model, batch, limit in POINTS:
            path = os.path.join(work, model + ".onnx")
            subprocess.run([args.arbalest, "new", model, "-o", path], check=True, stdout=subprocess.DEVNULL)
            pairs = [(rate(args, path, batch, "none"), rate(args, path, batch, args.sync)) for _ in range(args.rounds)]
            cost = statistics.median(1 - synchronised / alone for alone, synchronised in pairs)
            alone, synchronised = (statistics.median(column) for column in zip(*pairs))
            print(f"{model:10} {batch:5} {alone:9.0f} {synchronised:9.0f}  {cost:5.1%}  {limit:5.0%}", flush=True)
            failed = failed or cost > limit
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
