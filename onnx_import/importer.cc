#include "onnx_import/importer.h"

#include <algorithm>
#include <array>

#include "graph/base/error.h"
#include "graph/passes/passes.h"
#include "onnx_import/data_inputs.h"
#include "onnx_import/data_type.h"
#include "onnx_import/narrow_type.h"
#include "onnx_import/node_context.h"
#include "onnx_import/tensor_reader.h"

namespace arbalest {
namespace {

// Everything about the model that does not depend on how the batch is treated.
struct Preparation {
  FlatGraph flat;
  std::vector<std::string> outputs;
  std::unordered_set<std::string> names_read;
  std::vector<ModelTensor> tensors;
  std::vector<ParameterReport> reports;  // of each tensor
  std::vector<std::string> notices;
};

// ---- outputs

// Why an output cannot be one of ours; "" if it can.
std::string foreign_kind(const onnx::TypeProto& type) {
  if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) return "";
  if (!type.has_tensor_type()) return "not a tensor (a sequence, an optional or a map)";
  const int32_t element = type.tensor_type().elem_type();
  return element == 0 || storage_type_of_onnx(element) ? "" : "of element type " + onnx_type_name(element);
}

void check_wanted_outputs(const FlatGraph& flat, const onnx::GraphProto& graph,
                          const std::vector<std::string>& wanted) {
  std::unordered_set<std::string> known;
  for (const FlatNode& node : flat.nodes) known.insert(node.proto->output().begin(), node.proto->output().end());
  for (const auto& output : graph.output()) known.insert(output.name());
  for (const std::string& name : wanted) {
    if (known.count(name)) continue;
    std::vector<std::string> names;
    for (const auto& output : graph.output()) names.push_back("'" + output.name() + "'");
    throw Error(ErrorKind::usage, "no output '{}'; the model has {}", name, fmt::join(names, ", "));
  }
}

std::vector<std::string> choose_outputs(const FlatGraph& flat, const onnx::GraphProto& graph,
                                        const std::vector<std::string>& wanted, std::vector<std::string>& notices) {
  if (!wanted.empty()) {
    check_wanted_outputs(flat, graph, wanted);
    return wanted;
  }
  std::vector<std::string> outputs;
  for (const auto& output : graph.output()) {
    const std::string kind = foreign_kind(output.type());
    if (kind.empty()) {
      outputs.push_back(output.name());
    } else {
      notices.push_back(fmt::format("output '{}' is {}: it is left out while training", output.name(), kind));
    }
  }
  require(!outputs.empty(), "the graph has no output that is a tensor of numbers");
  return outputs;
}

// ---- tensors

TensorType type_of(const onnx::TensorProto& t) {
  try {
    const TensorHeader header = read_header(t);
    return {header.dtype, Shape(header.dims)};
  } catch (const Error& e) {
    throw e.within("initializer '" + t.name() + "'");
  }
}

void add_initializers(const ModelFile& file, Preparation& p) {
  const auto& graph = file.proto.graph();
  for (const auto& t : graph.initializer()) {
    const bool is_read = p.names_read.count(t.name()) > 0;
    if (!is_read && !data_type_of_onnx(t.data_type())) {
      p.notices.push_back(fmt::format("initializer '{}' ({}) is not needed and stays as it is", t.name(),
                                      onnx_type_name(t.data_type())));
      continue;
    }
    const TensorPtr value = is_read ? std::make_shared<HostTensor>(read_tensor(t, file)) : nullptr;
    p.tensors.push_back({t.name(), type_of(t), value, false, narrow_type(t.data_type()) != nullptr});
  }
  for (const auto& t : graph.sparse_initializer()) {
    const auto value = std::make_shared<HostTensor>(read_tensor(t, file));
    p.tensors.push_back({t.values().name(), {value->dtype, Shape(value->dims)}, value, false});
    p.notices.push_back(
        fmt::format("sparse initializer '{}' is trained and written as a dense tensor", t.values().name()));
  }
}

bool holds_floats(const onnx::NodeProto& constant) {
  return std::any_of(constant.attribute().begin(), constant.attribute().end(), [](const onnx::AttributeProto& a) {
    if (a.name() == "value_floats" || a.name() == "value_float") return true;
    const auto dtype = a.name() == "value" ? data_type_of_onnx(a.t().data_type()) : std::nullopt;
    return dtype && is_float(*dtype);
  });
}

void add_constants(const ModelFile& file, Preparation& p) {
  for (const FlatNode& node : p.flat.nodes) {
    if (node.proto->op_type() != "Constant" || !domain_of(*node.proto).empty() || !holds_floats(*node.proto)) continue;
    try {
      const auto value = std::make_shared<HostTensor>(read_constant(*node.proto, file));
      p.tensors.push_back({node.proto->output(0), {value->dtype, Shape(value->dims)}, value, true});
    } catch (const Error& e) {
      throw e.within(describe(node));
    }
  }
}

// ---- what is not supported

bool has_integer_weights(std::string_view op) {
  constexpr std::string_view kParts[] = {"QLinear",    "Integer", "NBits",    "Bnb4", "QGemm",
                                         "QAttention", "QEmbed",  "QOrdered", "QMoE", "Quant"};
  return std::any_of(std::begin(kParts), std::end(kParts), [&](auto part) { return op.find(part) != op.npos; });
}

struct Unsupported {
  std::vector<std::string> lines;
  bool integer_weights = false;
};

void add_if_unsupported(const onnx::NodeProto& node, const std::string& name, int opset, Unsupported& found) {
  const std::string domain = domain_of(node);
  const auto entry = translator().entries().find({domain, node.op_type()});
  const std::string shown = domain.empty() ? "ai.onnx" : domain;
  if (entry == translator().entries().end()) {
    found.lines.push_back(
        fmt::format("'{}' ({}): operator of domain {}, opset {}", name, node.op_type(), shown, opset));
    found.integer_weights = found.integer_weights || has_integer_weights(node.op_type());
  } else if (!entry->second.version_for(opset)) {
    found.lines.push_back(fmt::format("'{}' ({}): opset {} of domain {} does not have it; it is there from {} on", name,
                                      node.op_type(), opset, shown, entry->second.versions.front()));
  }
  for (const onnx::AttributeProto& a : node.attribute()) {
    for (const onnx::NodeProto& inner : a.g().node())
      add_if_unsupported(inner, name + "/" + node_name(inner), opset, found);
  }
}

void check_supported(const FlatGraph& flat) {
  Unsupported found;
  for (const FlatNode& node : flat.nodes) add_if_unsupported(*node.proto, node_name(*node.proto), node.opset, found);
  if (found.lines.empty()) return;
  throw Error(ErrorKind::unsupported, "{} node{} cannot be imported:\n  {}{}", found.lines.size(),
              found.lines.size() == 1 ? "" : "s", fmt::join(found.lines, "\n  "),
              found.integer_weights ? "\nIntegers cannot be trained: dequantise the model to float weights first, or "
                                      "choose an output before these nodes"
                                    : "");
}

// ---- translation

// Collects what is wrong with all nodes; those behind a node that failed are not looked at.
class Failures {
 public:
  bool reaches(const FlatNode& node) const {
    const std::vector<std::string> names = names_read(*node.proto);
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return without_value_.count(n) > 0; });
  }
  void mark(const FlatNode& node) {
    without_value_.insert(node.proto->output().begin(), node.proto->output().end());
    without_value_.erase("");
  }
  void add(const FlatNode& node, const Error& error) {
    // Scalar expressions check the types of their operands as if no model could get them wrong.
    const bool is_type_fault = std::string_view(error.what()).starts_with("scalar ");
    errors_.push_back(Error(is_type_fault ? ErrorKind::model : error.kind(), error.what()).within(describe(node)));
    mark(node);
  }
  void check() const {
    if (errors_.empty()) return;
    std::vector<std::string> lines;
    for (const Error& e : errors_) lines.push_back(e.what());
    throw Error(errors_.front().kind(), "{}", fmt::join(lines, "\n"));
  }

 private:
  std::vector<Error> errors_;
  std::unordered_set<std::string> without_value_;
};

void translate(const FlatNode& node, ImportContext& import) {
  const Translator::Entry& entry = translator().entries().at({domain_of(*node.proto), node.proto->op_type()});
  NodeContext context(node, *entry.version_for(node.opset), import);
  import.scope.builder().set_origin(node.label);
  const Values values = entry.translation(context);
  context.check_all_known();
  for (int i = 0; i < context.output_count(); ++i) {
    const auto k = static_cast<size_t>(i);
    if (k < values.size() && values[k]) {
      import.scope.define(node.proto->output(i), values[k]);
    } else if (context.output_used(i)) {
      throw Error(ErrorKind::unsupported, "output {} ('{}') is not supported", i, node.proto->output(i));
    }
  }
}

// Weights that no tensor holds: the user must know why they do not train.
void notice_generated_weights(const Preparation& p, std::vector<std::string>& notices) {
  if (std::any_of(p.reports.begin(), p.reports.end(), [](const ParameterReport& r) { return r.trains; })) return;
  for (const FlatNode& node : p.flat.nodes) {
    if (node.proto->op_type() != "ConstantOfShape") continue;
    notices.push_back(fmt::format("'{}' is made by ConstantOfShape ({}), all its elements are equal: it does not train",
                                  node.proto->output(0), describe(node)));
  }
}

// A size of the batch that a node still holds shows when another one is put in.
void check_any_batch(const Graph& graph, const ExportBatch& batch) {
  Graph other = graph;
  if (symbols(other).size() != 1) return;
  bind(other, {{batch.symbol, *batch.size + 1}});  // infers all types again
}

// The element types that the file tells of values, for those that are kept in a wider type.
void note_element_types(const ModelFile& file, const FlatGraph& flat, Scope& scope) {
  const auto& graph = file.proto.graph();
  for (const auto* list : {&graph.input(), &graph.value_info(), &graph.output()})
    for (const auto& value : *list) scope.set_onnx_type(value.name(), value.type().tensor_type().elem_type());
  for (const auto& t : graph.initializer()) scope.set_onnx_type(t.name(), t.data_type());
  for (const FlatNode& node : flat.nodes) {
    if (node.proto->op_type() != "Constant" || node.proto->output_size() == 0) continue;
    for (const auto& a : node.proto->attribute())
      if (a.name() == "value") scope.set_onnx_type(node.proto->output(0), a.t().data_type());
  }
}

Imported translate_all(const ModelFile& file, const Preparation& p, const ImportOptions& options, bool free_batch) {
  Imported result;
  result.notices = p.notices;
  const DataInputs data = find_data_inputs(file.proto.graph(), options, free_batch, p.names_read);
  result.batch_symbol = data.batch.symbol;

  Scope scope(result.graph, p.tensors, p.reports);
  note_element_types(file, p.flat, scope);
  for (const DataInput& input : data.inputs) {
    const auto known = options.constants.find(input.name);
    scope.define(input.name, known == options.constants.end()
                                 ? scope.builder().add_input(input.name, InputRole::data, input.type)
                                 : scope.builder().constant(in_compute_type(known->second)));
  }
  ImportContext import{file, options, scope, data.batch, p.names_read, result.notices};
  Failures failures;
  for (const FlatNode& node : p.flat.nodes) {
    if (failures.reaches(node)) {
      failures.mark(node);
      continue;
    }
    try {
      translate(node, import);
    } catch (const Error& e) {
      failures.add(node, e);
    }
  }
  failures.check();
  if (data.batch.size && free_batch) check_any_batch(result.graph, data.batch);
  for (const std::string& name : p.outputs) scope.builder().add_output(name, scope.find(name));
  drop_dead_nodes(result.graph);

  for (size_t i = 0; i < p.reports.size(); ++i) {
    const bool is_listed = !p.tensors[i].is_constant_node || p.reports[i].trains;
    if (is_listed) result.parameters.push_back(p.reports[i]);
  }
  notice_generated_weights(p, result.notices);
  return result;
}

Preparation prepare(const ModelFile& file, const ImportOptions& options) {
  Preparation p;
  const auto& graph = file.proto.graph();
  p.flat = inline_functions(file.proto);
  check_and_sort(p.flat, graph);
  p.outputs = choose_outputs(p.flat, graph, options.outputs, p.notices);
  keep_needed(p.flat, p.outputs);
  check_supported(p.flat);
  p.names_read.insert(p.outputs.begin(), p.outputs.end());
  for (const FlatNode& node : p.flat.nodes) {
    for (std::string& name : names_read(*node.proto)) p.names_read.insert(std::move(name));
  }
  add_initializers(file, p);
  add_constants(file, p);
  p.reports = decide_trainability(p.tensors, p.flat, options.selection);
  return p;
}

// Frees the batch if the model can be generalised.
Imported import_prepared(const ModelFile& file, const Preparation& p, const ImportOptions& options) {
  if (!options.free_batch) return translate_all(file, p, options, false);
  std::string reason;
  try {
    return translate_all(file, p, options, true);
  } catch (const Error& e) {
    reason = e.what();
  }
  Imported result = translate_all(file, p, options, false);  // throws the same error if the batch was free in the file
  result.notices.push_back("the batch stays as the file fixes it: " + reason);
  return result;
}

}  // namespace

Imported import_model(const ModelFile& file, const ImportOptions& options) {
  try {
    return import_prepared(file, prepare(file, options), options);
  } catch (const Error& e) {
    throw e.within(file.path);
  }
}

}  // namespace arbalest
