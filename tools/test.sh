#!/usr/bin/env bash
# Installs the packages, builds, and runs all tests. Stops at the first stage that fails.
#
#   tools/test.sh          the build, the tests with the include rule, and the checks of exported models with onnxruntime
#   tools/test.sh --full   also: clang-format, clang-tidy, a build of everything with clang whose tests run under
#                          AddressSanitizer and UndefinedBehaviorSanitizer, and the tests with threads under ThreadSanitizer
set -euo pipefail
cd "$(dirname "$0")/.."

full=no
case "${1:-}" in
  "") ;;
  --full) full=yes ;;
  *) echo "usage: tools/test.sh [--full]" >&2; exit 2 ;;
esac

started=$SECONDS
stage=

begin() {
  [ -z "$stage" ] || printf '==> %s: %d s\n' "$stage" $((SECONDS - stage_started))
  stage=$1
  stage_started=$SECONDS
  [ -z "$stage" ] || printf '\n==> %s\n' "$stage"
}
trap '[ $? -eq 0 ] || printf "\nFAILED: %s (after %d s)\n" "$stage" $((SECONDS - stage_started)) >&2' EXIT

# build FOLDER TARGETS OPTIONS...: TARGETS is a word list, empty for all
build() {
  local folder=$1 targets=$2
  shift 2
  cmake -G Ninja -B "$folder" -DCMAKE_UNITY_BUILD=ON "$@" >"$folder.log" 2>&1 || { cat "$folder.log"; return 1; }
  rm "$folder.log"
  # shellcheck disable=SC2086
  ninja -C "$folder" --quiet $targets
}

run_tests() {
  local folder=$1
  shift
  ctest --test-dir "$folder" --output-on-failure "$@"
}

begin "install packages"
tools/install_packages.sh --checks

begin "build"
build build "" -DCMAKE_BUILD_TYPE=Release

begin "tests"
run_tests build | tee build/tests.log

begin "exported models in onnxruntime"
venv=.cache/venv
requirements=tests/python/requirements.txt
if ! cmp -s $requirements $venv/requirements.txt; then
  rm -rf $venv
  python3 -m venv $venv
  $venv/bin/pip install --quiet --disable-pip-version-check --requirement $requirements
  cp $requirements $venv/requirements.txt
fi
$venv/bin/python -m pytest --quiet tests/python --arbalest build/arbalest

if [ $full = yes ]; then
  sources() { git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' '*.cu'; }

  begin "clang-format"
  sources | xargs clang-format --dry-run -Werror

  begin "clang-tidy"
  cmake -G Ninja -B build-clang -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
  # What is compiled for the layers: files, and unity files of some of them.
  grep -oP '"file": "\K[^"]+(?=")' build-clang/compile_commands.json |
    grep -E "/arbalest_[a-z_]+\.dir/Unity/|^$PWD/(graph|onnx_import|exec|sync|data|models)/" |
    xargs -P "$(nproc)" -n 1 clang-tidy -p build-clang --quiet --warnings-as-errors='*' \
      2> >(grep -vE '^[0-9]+ warnings? generated' >&2)

  sanitized() {
    local folder=$1 targets=$2 sanitizers=$3
    build "$folder" "$targets" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 -DARBALEST_SANITIZE="$sanitizers" \
      -DCMAKE_CXX_COMPILER=clang++
  }

  begin "tests under AddressSanitizer and UndefinedBehaviorSanitizer"
  sanitized build-asan "" address,undefined
  run_tests build-asan --parallel "$(nproc)" --exclude-regex '^scale$'  # that one is about time

  begin "tests with threads under ThreadSanitizer"
  sanitized build-tsan "test_sync test_data_sets" thread
  run_tests build-tsan --tests-regex '^(sync|data_sets)$'
fi

begin ""
printf '\nAll stages passed in %d s.\n' $((SECONDS - started))
sed -n '/tests passed/,$p' build/tests.log
