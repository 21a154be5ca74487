// arbalest operators: the table of docs/operators.md.
#include <fmt/format.h>

#include "onnx_import/support.h"
#include "tools/command.h"

namespace arbalest::tools {
namespace {

constexpr const char* kHead = R"(# Operators

Written by `arbalest operators`. A version is that of the operator: a model of any opset uses the newest version that its
opset has; versions that ONNX added only for more element types behave as the one before.

Types of the data: *floats* are float16, bfloat16, float32 and float64 (16-bit floats are computed in float32), *numbers*
also all integers, *any* also bool. Types of less than 16 bits (float8, float4, int4, int2) can be read, cast, quantised
and dequantised. A gradient flows through what is a float. Backends: CPU for all.

| domain | operator | versions | types | gradient | backends |
|---|---|---|---|---|---|
)";

int run() {
  fmt::print("{}", kHead);
  for (const OperatorSupport& o : supported_operators())
    fmt::print("| {} | {} | {} | {} | {} | CPU |\n", o.domain.empty() ? "ai.onnx" : o.domain, o.name,
               fmt::join(o.versions, ", "), name_of(o.types), o.has_gradient ? "yes" : "no");
  return 0;
}

}  // namespace

Run add_operators(CLI::App& app) {
  app.add_subcommand("operators", "list the ONNX operators that can be imported, as a Markdown table");
  return [] { return run(); };
}

}  // namespace arbalest::tools
