"""Best test accuracy on Fashion-MNIST by synchroniser and number of learners, as a table for docs/learners.md.

    python learners_accuracy.py --arbalest build/arbalest [--models lenet,resnet8] [--learners 1,2,4,8]
                                [--sync sma,sma-strong,ssgd,easgd,local] [--batch 8] [--epochs 6] [--log FILE.jsonl] [--logged]

All learners of a run have batches of the same size, so k learners take a k-th of the steps of one; every run sees each
example equally often. The learning rate follows a cosine to zero. What --log holds already is not run again; with
--logged nothing else is, and its cells stay empty.
"""
import argparse
import json
import os
import subprocess
import tempfile

METHODS = {
    "sma": ["--sync", "sma", "--central-momentum", 0.9],
    "sma-strong": ["--sync", "sma", "--central-momentum", 0.9, "--alpha", 0.3],  # instead of 1 / k
    "ssgd": ["--sync", "ssgd"],
    "easgd": ["--sync", "easgd"],
    "local": ["--sync", "local", "--tau", 8],
}
# Learning rate of one learner with batches of 8; for k learners, which take a k-th of the steps, k times as much.
RATES = {"lenet": 0.002, "resnet8": 0.01}


def train(args, path, model, method, k):
    options = ["--lr", RATES[model] * args.batch / 8 * k, "--momentum", 0.9, *(METHODS[method] if k > 1 else [])]
    with tempfile.TemporaryDirectory() as work:
        log = os.path.join(work, "log.jsonl")
        command = [args.arbalest, "train", path, "--data", args.data, "--learners", k, "--threads-per-learner", 1,
                   "--batch", args.batch, "--epochs", args.epochs, "--evaluate-every", 1, "--schedule", "cosine",
                   "--log", log, "-o", os.path.join(work, "out.onnx"), *options]
        subprocess.run([str(c) for c in command], check=True, stdout=subprocess.DEVNULL)
        with open(log) as f:
            epochs = [e for e in map(json.loads, f) if e["event"] == "epoch"]
    return {"model": model, "sync": method, "learners": k, "batch": args.batch, "epochs": args.epochs,
            "accuracy": max(e["accuracy"] for e in epochs)}


def key(row):
    return tuple(row[name] for name in ("model", "sync", "learners", "batch", "epochs"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--arbalest", required=True)
    p.add_argument("--data", default="fashion-mnist")
    p.add_argument("--models", default="lenet,resnet8")
    p.add_argument("--learners", default="1,2,4,8")
    p.add_argument("--sync", default="sma,sma-strong,ssgd,easgd,local")
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--log", help="one JSON object a run")
    p.add_argument("--logged", action="store_true", help="only print what --log holds")
    args = p.parse_args()
    learners = [int(k) for k in args.learners.split(",")]
    methods = args.sync.split(",")
    done = {}
    if args.log and os.path.exists(args.log):
        with open(args.log) as f:
            done = {key(row): row["accuracy"] for row in map(json.loads, f)}
    with tempfile.TemporaryDirectory() as work:
        for model in args.models.split(","):
            path = os.path.join(work, model + ".onnx")
            subprocess.run([args.arbalest, "new", model, "--input", "1x28x28", "--classes", "10", "-o", path], check=True,
                           stdout=subprocess.DEVNULL)
            for k in learners:
                for method in methods if k > 1 else methods[:1]:
                    wanted = (model, method, k, args.batch, args.epochs)
                    if wanted in done or args.logged:
                        continue
                    row = train(args, path, model, method, k)
                    done[wanted] = row["accuracy"]
                    if args.log:
                        with open(args.log, "a") as f:
                            f.write(json.dumps(row) + "\n")
            print(f"\n| {model}, batch {args.batch}, {args.epochs} epochs | " + " | ".join(f"k = {k}" for k in learners) + " |")
            print("|---" * (len(learners) + 1) + "|")
            for method in methods:
                cells = [done.get((model, method if k > 1 else methods[0], k, args.batch, args.epochs)) for k in learners]
                print(f"| `{method}` | " + " | ".join(f"{100 * c:.2f} %" if c else "" for c in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
