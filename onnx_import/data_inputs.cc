#include "onnx_import/data_inputs.h"

#include <algorithm>
#include <set>

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/node_context.h"

namespace arbalest {
namespace {

// One axis as the file has it.
struct Axis {
  std::optional<int64_t> size;
  std::string symbol;  // may be empty: unnamed

  bool is_open() const { return !size; }
};

struct Declaration {
  std::string name;
  DataType dtype;
  std::vector<Axis> axes;
};

Axis axis_of(const onnx::TensorShapeProto::Dimension& d) {
  if (d.has_dim_value() && d.dim_value() > 0) return {d.dim_value(), ""};
  return {std::nullopt, d.dim_param()};  // old exporters write 0 or -1 for a size that is open
}

std::optional<Declaration> declaration_of(const onnx::ValueInfoProto& input, bool is_needed) {
  const bool is_tensor = input.type().has_tensor_type();
  const auto dtype = is_tensor ? storage_type_of_onnx(input.type().tensor_type().elem_type()) : std::nullopt;
  if (dtype && input.type().tensor_type().has_shape()) {
    Declaration declaration{input.name(), compute_type(*dtype), {}};
    for (const auto& d : input.type().tensor_type().shape().dim()) declaration.axes.push_back(axis_of(d));
    return declaration;
  }
  if (!is_needed) return std::nullopt;
  if (dtype) throw Error(ErrorKind::unsupported, "input '{}': the file does not tell its shape", input.name());
  if (is_tensor) {
    throw Error(ErrorKind::unsupported, "input '{}' has elements of type {}", input.name(),
                onnx_type_name(input.type().tensor_type().elem_type()));
  }
  throw Error(ErrorKind::unsupported, "input '{}' is no tensor (a sequence, an optional or a map)", input.name());
}

std::set<std::string> symbols_of(const std::vector<Declaration>& declarations, size_t first_axis) {
  std::set<std::string> symbols;
  for (const Declaration& d : declarations) {
    for (size_t i = first_axis; i < d.axes.size(); ++i) symbols.insert(d.axes[i].symbol);
  }
  symbols.erase("");
  return symbols;
}

std::string unused_symbol(const std::vector<Declaration>& declarations) {
  const std::set<std::string> used = symbols_of(declarations, 0);
  std::string name = "N";
  while (used.count(name)) name += "'";
  return name;
}

bool sounds_like_batch(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name == "n" || name == "b" || name == "bs" || name.find("batch") != std::string::npos;
}

// The symbol of the batch among the first axes that the file leaves open; "" when all are unnamed. Where none of them
// sounds like a batch and one of another axis does, that one (recurrent layers have the time in front).
std::string batch_symbol(const std::vector<Declaration>& declarations) {
  std::string symbol;
  for (const Declaration& d : declarations) {
    if (d.axes.empty() || !d.axes[0].is_open() || d.axes[0].symbol.empty()) continue;
    if (symbol.empty() || (sounds_like_batch(d.axes[0].symbol) && !sounds_like_batch(symbol)))
      symbol = d.axes[0].symbol;
  }
  if (symbol.empty() || sounds_like_batch(symbol)) return symbol;
  const std::set<std::string> inner = symbols_of(declarations, 1);
  const auto other = std::find_if(inner.begin(), inner.end(), sounds_like_batch);
  return other == inner.end() ? symbol : *other;
}

// Symbols of first axes that are not the batch by another name: lengths that stand on other axes too, and what stands
// in front of the batch.
std::set<std::string> other_symbols(const std::vector<Declaration>& declarations, const std::string& batch) {
  std::set<std::string> others = symbols_of(declarations, 1);
  for (const Declaration& d : declarations) {
    const auto is_batch = [&](const Axis& axis) { return axis.symbol == batch; };
    if (!d.axes.empty() && std::any_of(d.axes.begin() + 1, d.axes.end(), is_batch)) others.insert(d.axes[0].symbol);
  }
  others.erase(batch);
  others.erase("");
  return others;
}

// Names the batch in all declarations.
ExportBatch unify_batch(std::vector<Declaration>& declarations, bool free_batch) {
  const auto has_axes = [](const Declaration& d) { return !d.axes.empty(); };
  const auto first = std::find_if(declarations.begin(), declarations.end(), has_axes);
  if (first == declarations.end()) return {};
  const bool any_open = std::any_of(declarations.begin(), declarations.end(),
                                    [&](const Declaration& d) { return has_axes(d) && d.axes[0].is_open(); });
  if (!any_open && !free_batch) return {};

  ExportBatch batch;
  if (!any_open) batch.size = first->axes[0].size;
  batch.symbol = any_open ? batch_symbol(declarations) : "";
  if (batch.symbol.empty()) batch.symbol = unused_symbol(declarations);
  const std::set<std::string> others = other_symbols(declarations, batch.symbol);
  for (Declaration& d : declarations) {
    if (d.axes.empty()) continue;
    const bool is_batch =
        any_open ? d.axes[0].is_open() && !others.count(d.axes[0].symbol) : d.axes[0].size == batch.size;
    if (is_batch) d.axes[0] = {std::nullopt, batch.symbol};
  }
  return batch;
}

}  // namespace

DataInputs find_data_inputs(const onnx::GraphProto& graph, const ImportOptions& options, bool free_batch,
                            const std::unordered_set<std::string>& needed) {
  std::unordered_set<std::string> initializers;
  for (const auto& t : graph.initializer()) initializers.insert(t.name());
  for (const auto& t : graph.sparse_initializer()) initializers.insert(t.values().name());

  std::vector<Declaration> declarations;
  for (const auto& input : graph.input()) {
    if (initializers.count(input.name())) continue;
    if (auto d = declaration_of(input, needed.count(input.name()) > 0)) declarations.push_back(std::move(*d));
  }
  DataInputs result;
  result.batch = unify_batch(declarations, free_batch);
  for (Declaration& d : declarations) {
    for (size_t i = 0; i < d.axes.size(); ++i) {
      if (d.axes[i].is_open() && d.axes[i].symbol.empty()) d.axes[i].symbol = fmt::format("{}_{}", d.name, i);
    }
  }
  for (const Declaration& d : declarations) {
    Shape shape;
    for (const Axis& axis : d.axes) {
      shape.push_back(axis.size ? Dim(*axis.size) : Dim::symbol(axis.symbol).bind(options.bindings));
    }
    result.inputs.push_back({d.name, {d.dtype, std::move(shape)}});
  }
  return result;
}

}  // namespace arbalest
