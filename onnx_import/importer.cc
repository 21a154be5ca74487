#include "onnx_import/importer.h"

#include <algorithm>
#include <array>

#include "graph/base/error.h"
#include "graph/passes/passes.h"
#include "onnx_import/classification.h"
#include "onnx_import/data_inputs.h"
#include "onnx_import/data_type.h"
#include "onnx_import/equal_elements.h"
#include "onnx_import/narrow_type.h"
#include "onnx_import/tensor_reader.h"
#include "onnx_import/translate.h"

namespace arbalest {
namespace {

// Everything about the model that does not depend on how the batch is treated.
struct Preparation {
  FlatGraph flat;
  std::vector<std::string> outputs;
  std::unordered_set<std::string> names_read;
  int64_t node_count = 0;  // an upper bound of the nodes' indices
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

TensorType tensor_type(const onnx::TensorProto& t) {
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
    p.tensors.push_back({t.name(), tensor_type(t), value, false, narrow_type(t.data_type()) != nullptr});
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

// Of the main graph, or of the body.
void add_constants(const ModelFile& file, const std::vector<FlatNode>& nodes, Preparation& p, FlatBody* body) {
  for (const FlatNode& node : nodes) {
    if (node.proto->op_type() != "Constant" || !domain_of(*node.proto).empty() || !holds_floats(*node.proto)) continue;
    try {
      const auto value = std::make_shared<HostTensor>(read_constant(*node.proto, file));
      if (body) body->tensors[node.proto->output(0)] = p.tensors.size();
      p.tensors.push_back(
          {node.proto->output(0), {value->dtype, Shape(value->dims)}, value, true, false, body != nullptr});
    } catch (const Error& e) {
      throw e.within(describe(node));
    }
  }
}

void add_tensors_of_body(const ModelFile& file, FlatBody& body, Preparation& p) {
  const auto add = [&](const std::string& name, HostTensor tensor, bool is_narrow) {
    const auto value = std::make_shared<HostTensor>(std::move(tensor));
    body.tensors[name] = p.tensors.size();
    p.tensors.push_back({name, {value->dtype, Shape(value->dims)}, value, false, is_narrow, true});
  };
  for (const auto& t : body.graph->initializer()) {
    if (p.names_read.count(t.name()) > 0) add(t.name(), read_tensor(t, file), narrow_type(t.data_type()) != nullptr);
  }
  for (const auto& t : body.graph->sparse_initializer()) add(t.values().name(), read_tensor(t, file), false);
  add_constants(file, body.nodes, p, &body);
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
  bool matters = false;
};

// Branches of If are listed with the rest, but are no reason of their own: a branch that is never taken does not
// matter.
void add_unsupported(const std::vector<FlatNode>& nodes, const std::string& prefix, bool in_branch,
                     Unsupported& found) {
  for (const FlatNode& node : nodes) {
    const std::string name = prefix + node_name(*node.proto);
    const std::string why = why_unsupported(node);
    if (!why.empty()) {
      found.lines.push_back(fmt::format("'{}' ({}): {}", name, node.proto->op_type(), why));
      found.integer_weights = found.integer_weights || has_integer_weights(node.proto->op_type());
      found.matters = found.matters || !in_branch;
    }
    for (const auto& [attribute, body] : node.bodies)
      add_unsupported(body->nodes, name + "/", in_branch || node.proto->op_type() == "If", found);
  }
}

void check_supported(const FlatGraph& flat) {
  Unsupported found;
  add_unsupported(flat.nodes, "", false, found);
  if (!found.matters) return;
  throw Error(ErrorKind::unsupported, "{} node{} cannot be imported:\n  {}{}", found.lines.size(),
              found.lines.size() == 1 ? "" : "s", fmt::join(found.lines, "\n  "),
              found.integer_weights ? "\nIntegers cannot be trained: dequantise the model to float weights first, or "
                                      "choose an output before these nodes"
                                    : "");
}

// ---- translation

std::string listed(std::vector<std::string> names) {
  constexpr size_t kShown = 4;
  const std::string more = names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "";
  names.resize(std::min(names.size(), kShown));
  return fmt::format("'{}'{}", fmt::join(names, "', '"), more);
}

// Weights that no tensor holds: the user must know why they do not train.
void notice_generated_weights(const Preparation& p, std::vector<std::string>& notices) {
  const auto is_weight = [](const ParameterReport& r) { return r.trains && r.type.rank() >= 2; };
  if (std::any_of(p.reports.begin(), p.reports.end(), is_weight)) return;
  std::vector<std::string> names;
  for (const FlatNode& node : p.flat.nodes)
    if (node.proto->op_type() == "ConstantOfShape") names.push_back(node.proto->output(0));
  if (names.empty()) return;
  notices.push_back(
      fmt::format("{} {} made by ConstantOfShape, all elements equal: weights that start equal learn nothing, so they "
                  "do not train; --reinit kaiming (or xavier) makes tensors of them and draws start values",
                  listed(names), names.size() == 1 ? "is" : "are"));
}

// Units of a layer that start equal stay equal: each gets the gradient of the others. (One layer alone may start so.)
void notice_equal_weights(const Preparation& p, std::vector<std::string>& notices) {
  std::vector<std::string> names;
  for (size_t i = 0; i < p.reports.size(); ++i) {
    const ParameterReport& r = p.reports[i];
    if (!r.trains || r.use != TensorUse::weight || r.type.rank() < 2) continue;
    if (!has_equal_elements(*p.tensors[i].value)) return;
    names.push_back(r.name);
  }
  if (names.size() < 2) return;
  notices.push_back(fmt::format(
      "all weights are constant ({}: the elements of each are equal), which no training changes; --reinit kaiming "
      "(or xavier) draws start values",
      listed(names)));
}

// A size of the batch that a node still holds shows when another one is put in.
void check_any_batch(const Graph& graph, const ExportBatch& batch) {
  Graph other = graph;
  if (symbols(other).size() != 1 || !other.segment_ends.empty()) return;
  bind(other, {{batch.symbol, *batch.size + 1}});  // infers all types again
}

// The element types that the file tells of values, for those that are kept in a wider type.
void note_element_types(const onnx::GraphProto& graph, Scope& scope) {
  for (const auto* list : {&graph.input(), &graph.value_info(), &graph.output()})
    for (const auto& value : *list) scope.set_onnx_type(value.name(), value.type().tensor_type().elem_type());
  for (const auto& t : graph.initializer()) scope.set_onnx_type(t.name(), t.data_type());
}

void note_element_types(const ModelFile& file, const FlatGraph& flat, Scope& scope) {
  note_element_types(file.proto.graph(), scope);
  for_each_node(flat.nodes, [&](const FlatNode& node) {
    for (const auto& body : node.bodies) note_element_types(*body.second->graph, scope);
    if (node.proto->op_type() != "Constant" || node.proto->output_size() == 0) return;
    for (const auto& a : node.proto->attribute())
      if (a.name() == "value") scope.set_onnx_type(node.proto->output(0), a.t().data_type());
  });
}

std::vector<ParameterReport> listed_reports(const Preparation& p) {
  std::vector<ParameterReport> reports;
  for (size_t i = 0; i < p.reports.size(); ++i)
    if (!p.tensors[i].is_constant_node || p.reports[i].trains) reports.push_back(p.reports[i]);
  return reports;
}

Imported translate_all(const ModelFile& file, const Preparation& p, const ImportOptions& options, bool free_batch) {
  Imported result;
  result.notices = p.notices;
  const DataInputs data = find_data_inputs(file.proto.graph(), options, free_batch, p.names_read);
  result.batch_symbol = data.batch.symbol;

  Scope scope(result.graph, p.tensors, p.reports, options.forms, result.forms);
  note_element_types(file, p.flat, scope);
  for (const DataInput& input : data.inputs) {
    const auto known = options.constants.find(input.name);
    scope.define(input.name, known == options.constants.end()
                                 ? scope.builder().add_input(input.name, InputRole::data, input.type)
                                 : scope.builder().constant(in_compute_type(known->second)));
  }
  ImportContext import{file, options, scope, data.batch, p.names_read, result.notices, p.node_count};
  translate_nodes(p.flat.nodes, import);
  if (data.batch.size && free_batch) check_any_batch(result.graph, data.batch);
  for (const std::string& name : p.outputs) {
    const Item item = scope.find(name);
    require(static_cast<bool>(item.tensor), "output '{}' is not a tensor", name);
    scope.builder().add_output(name, item.tensor);
  }
  drop_dead_nodes(result.graph);

  result.parameters = listed_reports(p);
  notice_generated_weights(p, result.notices);
  notice_equal_weights(p, result.notices);
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
  for_each_node(p.flat.nodes, [&](const FlatNode& node) {
    for (std::string& name : names_read(*node.proto)) p.names_read.insert(std::move(name));
    for (const auto& body : node.bodies) {
      for (const auto& output : body.second->graph->output()) p.names_read.insert(output.name());
    }
    p.node_count = std::max<int64_t>(p.node_count, node.index + 1);
  });
  add_initializers(file, p);
  add_constants(file, p.flat.nodes, p, nullptr);
  for_each_node(p.flat.nodes, [&](const FlatNode& node) {
    for (const auto& body : node.bodies) add_tensors_of_body(file, *body.second, p);
  });
  p.reports = decide_trainability(p.tensors, p.flat, options.selection);
  if (options.mode == ImportMode::training && options.forms.ties.empty()) {
    for (std::string& notice : find_equal_matrices(p.tensors, p.reports)) p.notices.push_back(std::move(notice));
  }
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

std::shared_ptr<const Graph> import_again(const std::shared_ptr<const ModelFile>& file, ImportOptions options,
                                          const std::string& node, const HostTensor& told);

// Segment ends that give nothing but the value that a node needs have the model imported again for it. `copy` is made
// where it is needed: the caller's file may be gone by then.
void let_rebuild(Graph& graph, const ModelFile& file, std::shared_ptr<const ModelFile> copy,
                 const ImportOptions& options) {
  for (SegmentEnd& end : graph.segment_ends) {
    if (!end.inputs.empty() || !end.sizes.empty()) continue;
    if (!copy) copy = std::make_shared<const ModelFile>(file);
    end.rebuild = [copy, options, node = end.origin](const std::vector<HostTensor>& sources) {
      return import_again(copy, options, node, sources.at(0));
    };
  }
}

std::shared_ptr<const Graph> import_again(const std::shared_ptr<const ModelFile>& file, ImportOptions options,
                                          const std::string& node, const HostTensor& told) {
  options.told[node] = std::make_shared<const HostTensor>(told);
  auto graph = std::make_shared<Graph>(import_prepared(*file, prepare(*file, options), options).graph);
  let_rebuild(*graph, *file, file, options);
  return graph;
}

}  // namespace

Imported import_model(const ModelFile& file, const ImportOptions& options) {
  try {
    Imported imported = import_prepared(file, prepare(file, options), options);
    let_rebuild(imported.graph, file, nullptr, options);
    return imported;
  } catch (const Error& e) {
    throw e.within(file.path);
  }
}

std::vector<ParameterReport> classify_tensors(const ModelFile& file, const ImportOptions& options) {
  return listed_reports(prepare(file, options));
}

DeclaredInputs declared_inputs(const ModelFile& file, const ImportOptions& options) {
  const DataInputs data = find_data_inputs(file.proto.graph(), options, options.free_batch, {});
  DeclaredInputs declared{{}, data.batch.symbol};
  for (const DataInput& input : data.inputs) declared.types[input.name] = input.type;
  return declared;
}

}  // namespace arbalest
