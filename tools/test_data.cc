#include "tools/test_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "graph/contents.h"
#include "onnx_import/importer.h"
#include "onnx_import/model.h"
#include "tools/repeated_batch.h"
#include "tools/table.h"

namespace arbalest::tools {
namespace {

using NamedTensors = std::vector<std::pair<std::string, HostTensor>>;

NamedTensors read_all(const std::string& folder, const char* kind, const std::vector<std::string>& names) {
  NamedTensors tensors;
  for (const std::string& name : names) {
    const auto path = std::filesystem::path(folder) / fmt::format("{}_{}.pb", kind, tensors.size());
    std::string name_in_file;
    tensors.emplace_back(name, read_tensor_file(path.string(), name_in_file));
  }
  return tensors;
}

// Symbols of the inputs' shapes, with the sizes that the data have.
Bindings sizes_of(const Graph& graph, const NamedTensors& inputs) {
  Bindings bindings;
  for (const auto& [name, value] : inputs) {
    const GraphInput* input = graph.find_input(name);
    if (!input) continue;
    const Shape& shape = graph.at(input->value).type.shape;
    for (size_t axis = 0; axis < shape.size() && axis < value.dims.size(); ++axis) {
      std::vector<std::string> symbols;
      shape[axis].add_symbols(symbols);
      if (symbols.size() == 1) bindings.emplace(symbols[0], value.dims[axis]);
    }
  }
  return bindings;
}

// Runs the model on data of several folders. What was imported and planned for the sizes of one serves all of them.
class TestRuns {
 public:
  TestRuns(const ModelFile& model, int threads) : model_(model), threads_(threads) {
    options_.batch_norm = BatchNormPolicy::file;
    options_.free_batch = false;
  }

  Tensors outputs(const NamedTensors& inputs) {
    const ReferenceBatch batch{{inputs.begin(), inputs.end()}, {}};
    try {
      return run_of(sizes(inputs)).outputs(batch);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::unsupported) throw;
    }
    ImportOptions options = options_;
    for (const auto& [name, value] : inputs)
      if (value.element_count() <= kMaxContents) options.constants[name] = std::make_shared<HostTensor>(value);
    options.bindings = sizes_of(import_model(model_, options).graph, inputs);
    return run_once(import_model(model_, options).graph, batch, threads_);
  }

 private:
  Bindings sizes(const NamedTensors& inputs) {
    if (!open_) open_ = import_model(model_, options_).graph;
    return sizes_of(*open_, inputs);
  }

  ForwardRun& run_of(const Bindings& sizes) {
    std::unique_ptr<ForwardRun>& run = runs_[sizes];
    if (!run) {
      ImportOptions options = options_;
      options.bindings = sizes;
      run = std::make_unique<ForwardRun>(sizes.empty() ? *open_ : import_model(model_, options).graph, threads_);
    }
    return *run;
  }

  const ModelFile& model_;
  int threads_;
  ImportOptions options_;
  std::optional<Graph> open_;
  std::map<Bindings, std::unique_ptr<ForwardRun>> runs_;
};

double tolerance(DataType type) {
  switch (type) {
    case DataType::f16:
      return 2e-3;
    case DataType::bf16:
      return 1e-2;
    default:
      return is_float(type) ? 1e-3 : 0;
  }
}

// The greatest |got - expected| / (|expected| + 1e-7 / tolerance); infinite where types or sizes differ.
struct Difference {
  double error = 0;
  std::string fault;  // in place of numbers
};

Difference difference(const HostTensor& output, const HostTensor& expected) {
  const bool is_short = size_of(expected.dtype) == 2 && is_float(expected.dtype) && output.dtype == DataType::f32;
  const HostTensor got = is_short ? output.to(expected.dtype) : output;  // computed in float32
  if (got.dtype != expected.dtype)
    return {INFINITY, fmt::format("{} instead of {}", name_of(got.dtype), name_of(expected.dtype))};
  if (got.dims != expected.dims)
    return {INFINITY, fmt::format("{} instead of {}", to_string(got.dims), to_string(expected.dims))};
  if (!is_float(got.dtype)) return {got.bytes == expected.bytes ? 0.0 : INFINITY, ""};
  const HostTensor a = got.to(DataType::f64), b = expected.to(DataType::f64);
  double worst = 0;
  for (size_t i = 0; i < b.as<double>().size(); ++i) {
    const double x = a.as<double>()[i], y = b.as<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double error = std::abs(x - y) / (std::abs(y) + 1e-7 / tolerance(expected.dtype));
    worst = std::max(worst, std::isfinite(error) ? error : INFINITY);
  }
  return {worst, ""};
}

bool compare(const Tensors& outputs, const NamedTensors& expected) {
  Table table({"output", "type", "shape", ">error", ">tolerance", ""});
  bool good = true;
  for (const auto& want : expected) {
    const auto got = outputs.find(want.first);
    const Difference d =
        got == outputs.end() ? Difference{INFINITY, "is no tensor of numbers"} : difference(got->second, want.second);
    const double allowed = tolerance(want.second.dtype);
    good = good && d.error <= allowed;
    table.add({want.first, std::string(name_of(want.second.dtype)), to_string(want.second.dims),
               d.fault.empty() ? fmt::format("{:.1e}", d.error) : d.fault, fmt::format("{:.0e}", allowed),
               d.error <= allowed ? "ok" : "FAILS"});
  }
  fmt::print("{}", table.text());
  return good;
}

}  // namespace

int verify_test_data(const std::string& model_path, const std::vector<std::string>& folders, int threads) {
  const ModelPtr model = load_model(model_path);
  TestRuns runs(*model, threads);
  bool good = true;
  for (const std::string& folder : folders) {
    const NamedTensors inputs = read_all(folder, "input", input_names(*model));
    const NamedTensors expected = read_all(folder, "output", output_names(*model));
    good = compare(runs.outputs(inputs), expected) && good;
  }
  return good ? 0 : 1;
}

}  // namespace arbalest::tools
