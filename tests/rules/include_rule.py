"""Who may include whom: the layers of the project, and which layer sees which library.

    python3 tests/rules/include_rule.py     prints every violation; exit status 1 when there is one

Also: no conditional compilation outside exec/ and one #pragma once in every header. Run by ctest.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = ("graph", "onnx_import", "exec", "sync", "data", "models", "tools", "tests")

# What of the project a layer may include, besides itself: prefixes of paths.
MAY_INCLUDE = {
    "graph": (),
    "onnx_import": ("graph/",),
    "exec": ("graph/",),
    "sync": ("exec/", "graph/"),
    "data": ("graph/base/", "graph/types.h", "graph/host_tensor.h"),
    "models": ("onnx_import/", "graph/"),
    "tools": ("graph/", "onnx_import/", "exec/", "sync/", "data/", "models/"),
    "tests": ("graph/", "onnx_import/", "exec/", "sync/", "data/", "models/", "tools/"),
}

# Headers of a library, and the folders that may see them.
LIBRARIES = (
    ("protobuf and ONNX", r"google/protobuf/|onnx/", ("onnx_import/", "tests/onnx_import/")),
    ("oneDNN", r"dnnl|oneapi/", ("exec/", "tests/exec/")),
    ("Highway", r"hwy/", ("exec/", "tests/exec/")),
    ("OpenMP", r"omp\.h", ("exec/", "tests/exec/")),
    ("CUDA", r"cuda|cudnn|cublas|nccl|nvrtc", ("exec/cuda/",)),
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else)\b")


def violations(path):
    """Yields (line number, text) for a file given relative to the root."""
    layer = path.parts[0]
    name = path.as_posix()
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    repeated = name.endswith("-inl.h")  # Highway's: included once for each target
    if path.suffix == ".h" and not repeated and sum(line.strip() == "#pragma once" for line in lines) != 1:
        yield 1, "a header has one #pragma once"
    for number, line in enumerate(lines, 1):
        if layer != "exec" and CONDITIONAL.match(line):
            yield number, "conditional compilation belongs into exec/ or CMakeLists.txt"
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, header = found.groups()
        if (ROOT / header).is_file():
            if not header.startswith((layer + "/",) + MAY_INCLUDE[layer]):
                yield number, f"{layer}/ may not include {header}"
            continue
        library = next((entry for entry in LIBRARIES if re.match(entry[1], header)), None)
        if library and not name.startswith(library[2]):
            yield number, f"{header} is of {library[0]}: only {' and '.join(library[2])} may see it"
        if not library and quote == '"':
            yield number, f"{header} is no file of the project, named from its root"


def main():
    files = [path.relative_to(ROOT) for layer in LAYERS for path in sorted((ROOT / layer).rglob("*"))
             if path.suffix in (".h", ".cc", ".cu")]
    found = [f"{path}:{number}: {text}" for path in files for number, text in violations(path)]
    print("\n".join(found) if found else f"{len(files)} files keep the include rule")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
