"""Time to accuracy of LeNet on Fashion-MNIST (90.0 %) and MNIST (99.0 %), Arbalest beside PyTorch, as tables for
docs/learners.md.

    python time_to_accuracy.py --arbalest build/arbalest --peers DIR --fashion-mnist DIR --mnist DIR [--seeds 3]
                               [--log FILE.jsonl]

DIR of --peers holds tta_torch.py and its models.py; the other two hold the IDX files. Both sweep batch and learning rate with
one seed; then the best point of each runs with all seeds, alternating, and the medians are compared. Only training is timed,
and the accuracy is measured every quarter of an epoch. Runs that --log holds already are not repeated. Needs torch.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

TARGETS = {"fashion-mnist": 0.90, "mnist": 0.99}
MAX_EPOCHS = 8
# (batch of the whole step, learning rate)
TORCH = [(32, 0.01), (64, 0.02), (128, 0.02), (128, 0.03), (256, 0.05)]
# (learners, batch of a learner, options)
OURS = [(2, 16, "--sync sma --lr 0.01"), (2, 32, "--sync sma --lr 0.02"), (2, 64, "--sync sma --lr 0.03"),
        (2, 16, "--sync ssgd --lr 0.01"), (2, 64, "--sync ssgd --lr 0.03")]


def torch(args, data, point, seed):
    batch, lr = point
    code = ("import sys, torch; real = torch.manual_seed; torch.manual_seed = lambda s: real(s + %d); "
            "sys.argv[0] = 'tta_torch.py'; import tta_torch; tta_torch.main()" % seed)
    out = subprocess.run([sys.executable, "-c", code, args.folders[data], "--target", str(TARGETS[data]), "--batch", str(batch),
                          "--lr", str(lr), "--seeds", "1", "--max-epochs", str(MAX_EPOCHS), "--threads", str(args.threads)],
                         check=True, capture_output=True, text=True, cwd=args.peers).stdout
    seconds, epochs, reached = re.search(r"seconds=([\d.]+) epochs=([\d.]+) .*reached=(\w+)", out).groups()
    return {"seconds": float(seconds), "epochs": float(epochs), "reached": reached == "True"}


def arbalest(args, data, point, seed):
    learners, batch, options = point
    with tempfile.TemporaryDirectory() as work:
        model, log = os.path.join(work, "lenet.onnx"), os.path.join(work, "log.jsonl")
        subprocess.run([args.arbalest, "new", "lenet", "--seed", str(seed), "-o", model], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([args.arbalest, "train", model, "--data", args.folders[data], "--learners", str(learners), "--batch",
                        str(batch), "--seed", str(seed), "--epochs", str(MAX_EPOCHS), "--evaluate-every", "0.25",
                        "--target-accuracy", str(TARGETS[data]), "--log", log, "-o", os.path.join(work, "out.onnx"),
                        "--threads-per-learner", str(max(1, args.threads // learners)), *options.split()],
                       check=True, stdout=subprocess.DEVNULL)
        with open(log) as f:
            epochs = [e for e in map(json.loads, f) if e["event"] == "epoch"]
    return {"seconds": sum(e["seconds"] for e in epochs), "epochs": epochs[-1]["epoch"],
            "reached": epochs[-1]["accuracy"] >= TARGETS[data]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--arbalest", required=True)
    p.add_argument("--peers", required=True)
    p.add_argument("--fashion-mnist", required=True)
    p.add_argument("--mnist", required=True)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--log")
    args = p.parse_args()
    args.folders = {"fashion-mnist": args.fashion_mnist, "mnist": args.mnist}
    args.arbalest = os.path.abspath(args.arbalest)
    contenders = {"PyTorch": (torch, TORCH), "Arbalest": (arbalest, OURS)}
    done = {}
    if args.log and os.path.exists(args.log):
        with open(args.log) as f:
            done = {(r["data"], r["contender"], str(r["point"]), r["seed"]): r for r in map(json.loads, f)}

    def run(data, contender, point, seed):
        wanted = (data, contender, str(list(point)), seed)
        if wanted not in done:
            result = contenders[contender][0](args, data, point, seed)
            done[wanted] = {"data": data, "contender": contender, "point": list(point), "seed": seed, **result}
            print(json.dumps(done[wanted]), file=sys.stderr, flush=True)
            if args.log:
                with open(args.log, "a") as f:
                    f.write(json.dumps(done[wanted]) + "\n")
        return done[wanted]

    for data, target in TARGETS.items():
        best = {}
        print(f"\n| {data} to {100 * target:.0f} %, one seed | seconds | epochs |\n|---|---|---|")
        for contender, (_, points) in contenders.items():
            for point in points:
                r = run(data, contender, point, 1)
                text = f"{r['seconds']:.1f} | {r['epochs']:.2f}" if r["reached"] else f"not in {MAX_EPOCHS} epochs | "
                print(f"| {contender} {point} | {text} |", flush=True)
                if r["reached"] and (contender not in best or r["seconds"] < best[contender][0]):
                    best[contender] = (r["seconds"], point)
        times = {c: [] for c in best}
        for seed in range(1, args.seeds + 1):
            for contender, (_, point) in best.items():
                r = run(data, contender, point, seed)
                times[contender].append(r["seconds"] if r["reached"] else float("inf"))
        print(f"\n| {data}, best points, {args.seeds} seeds | seconds | median |\n|---|---|---|")
        for contender, values in times.items():
            print(f"| {contender} {best[contender][1]} | " + ", ".join(f"{v:.1f}" for v in values) +
                  f" | {statistics.median(values):.1f} |", flush=True)


if __name__ == "__main__":
    main()
