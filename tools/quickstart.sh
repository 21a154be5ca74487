#!/usr/bin/env bash
# From a fresh clone to a trained model: installs the packages, builds, trains LeNet on Fashion-MNIST with two learners
# kept together by SMA, and evaluates the ONNX file that it wrote. Run it in the folder of the clone.
set -euo pipefail
cd "$(dirname "$0")/.."

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

tools/install_packages.sh
run cmake -G Ninja -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON
run ninja -C build arbalest
run build/arbalest new lenet -o lenet.onnx
run build/arbalest train lenet.onnx --data fashion-mnist --sync sma --learners 2 --batch 16 --epochs 5 --lr 0.004 --momentum 0.9 -o lenet-trained.onnx
run build/arbalest eval lenet-trained.onnx --data fashion-mnist
