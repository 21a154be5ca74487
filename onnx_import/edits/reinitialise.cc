#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "graph/base/error.h"
#include "onnx_import/classification.h"
#include "onnx_import/data_type.h"
#include "onnx_import/edits/start_values.h"
#include "onnx_import/flat_graph.h"
#include "onnx_import/glob.h"
#include "onnx_import/tensor_reader.h"

namespace arbalest {
namespace {

using PlacesByName = std::unordered_map<std::string, std::vector<ReaderPlace>>;
using TensorNames = std::unordered_set<std::string>;

void add_readers(onnx::GraphProto& graph, PlacesByName& places) {
  for (auto& node : *graph.mutable_node()) {
    for (int i = 0; i < node.input_size(); ++i) places[node.input(i)].push_back({&node, i});
    for (auto& a : *node.mutable_attribute())
      if (a.has_g()) add_readers(*a.mutable_g(), places);
  }
}

// Where a tensor is read, seen through nodes that pass it on.
std::optional<TensorPlace> first_place(const PlacesByName& readers, std::string name, Dims dims) {
  for (size_t hops = 0; hops <= readers.size(); ++hops) {
    const auto found = readers.find(name);
    if (found == readers.end()) return std::nullopt;
    const ReaderPlace& place = found->second.front();
    const std::string& op = place.node->op_type();
    if (op == "Transpose" && dims.size() == 2) {
      std::swap(dims[0], dims[1]);
    } else if (op != "Identity" && op != "Cast") {
      return TensorPlace{place, dims};
    }
    if (place.node->output_size() == 0) return std::nullopt;
    name = place.node->output(0);
  }
  return std::nullopt;
}

bool makes_floats(const onnx::NodeProto& node) {
  if (node.op_type() != "ConstantOfShape" || node.input_size() != 1 || node.output_size() != 1) return false;
  const auto* value = find_attribute(node, "value");
  const auto type = data_type_of_onnx(value ? value->t().data_type() : onnx::TensorProto::FLOAT);
  return type && is_float(*type);
}

// Initializers and Constants that may hold a shape, by name.
using Shapes = std::unordered_map<std::string, Dims>;

Shapes known_shapes(const ModelFile& file) {
  Shapes shapes;
  const auto add = [&](const std::string& name, const HostTensor& t) {
    if (t.dtype == DataType::i64) shapes[name] = Dims(t.as<int64_t>().begin(), t.as<int64_t>().end());
  };
  for (const auto& t : file.proto.graph().initializer())
    if (t.data_type() == onnx::TensorProto::INT64) add(t.name(), read_tensor(t, file));
  for (const auto& node : file.proto.graph().node())
    if (node.op_type() == "Constant" && node.output_size() == 1 && domain_of(node).empty())
      add(node.output(0), read_constant(node, file));
  return shapes;
}

// The tensor that a ConstantOfShape makes; none where the file does not hold its shape.
std::optional<onnx::TensorProto> made_tensor(const ModelFile& file, const Shapes& shapes, const onnx::NodeProto& node) {
  constexpr int64_t kMostElements = int64_t{1} << 29;  // 2 GiB of float32, more than a file can hold
  const auto shape = shapes.find(node.input(0));
  if (shape == shapes.end()) return std::nullopt;
  const int64_t count = element_count(shape->second);
  if (count > kMostElements)
    throw Error(ErrorKind::unsupported, "'{}' has {} elements, more than a file can hold", node.output(0), count);
  const auto* value = find_attribute(node, "value");
  float same = 0;
  if (value) {
    const HostTensor element = read_tensor(value->t(), file).to_f32();
    require(element.element_count() == 1, "'{}': 'value' has {} elements, expected 1", node.output(0),
            element.element_count());
    same = element.as<float>()[0];
  }
  onnx::TensorProto tensor;
  tensor.set_name(node.output(0));
  tensor.set_data_type(value ? value->t().data_type() : onnx::TensorProto::FLOAT);
  set_values(tensor, shape->second, std::vector<float>(static_cast<size_t>(count), same));
  return tensor;
}

// Those ConstantOfShape nodes that `chosen` names become initializers; one whose shape the file does not hold is left.
template <class F>
void make_initializers(ModelFile& file, F&& chosen) {
  const Shapes shapes = known_shapes(file);
  std::vector<onnx::TensorProto> made;
  TensorNames names;
  for (const auto& node : file.proto.graph().node()) {
    if (!makes_floats(node) || !chosen(node.output(0))) continue;
    if (auto tensor = made_tensor(file, shapes, node)) {
      names.insert(node.output(0));
      made.push_back(std::move(*tensor));
    }
  }
  auto* nodes = file.proto.mutable_graph()->mutable_node();
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(),
                              [&](const auto& n) { return n.output_size() == 1 && names.count(n.output(0)) > 0; }),
               nodes->end());
  for (onnx::TensorProto& tensor : made) add_initializer(file.proto, std::move(tensor));
}

using Uses = std::unordered_map<std::string, const ParameterReport*>;

// What trains, and the running statistics of norms of which something trains.
TensorNames trained_names(const std::vector<ParameterReport>& reports, const PlacesByName& readers) {
  TensorNames names;
  for (const ParameterReport& r : reports)
    if (r.trains) names.insert(r.name);
  TensorNames statistics;
  for (const ParameterReport& r : reports) {
    const auto place = r.use == TensorUse::running_statistic ? first_place(readers, r.name, {}) : std::nullopt;
    if (!place) continue;
    const auto& inputs = place->reader.node->input();
    if (std::any_of(inputs.begin(), inputs.end(), [&](const auto& i) { return names.count(i) > 0; }))
      statistics.insert(r.name);
  }
  names.merge(statistics);
  return names;
}

bool has_weights(const std::vector<ParameterReport>& reports) {
  return std::any_of(reports.begin(), reports.end(), [](const auto& r) { return r.trains && r.type.rank() >= 2; });
}

ImportOptions selecting(const ModelEdits& edits) {
  ImportOptions options;
  options.selection = edits.selection;
  return options;
}

// The model's reports as they are once all ConstantOfShape are initializers: only in a model without other weights are
// they weights.
std::vector<ParameterReport> reports_of(ModelFile& file, const ModelEdits& edits, bool& generates) {
  const auto& nodes = file.proto.graph().node();
  generates = std::any_of(nodes.begin(), nodes.end(), makes_floats) && !has_weights(classify_tensors(file, {}));
  if (!generates) return classify_tensors(file, selecting(edits));
  ModelFile trial = file;
  make_initializers(trial, [](const std::string&) { return true; });
  return classify_tensors(trial, selecting(edits));
}

class Renewal {
 public:
  Renewal(ModelFile& file, const ModelEdits& edits, const std::vector<ParameterReport>& reports)
      : graph_(*file.proto.mutable_graph()), edits_(edits) {
    add_readers(graph_, readers_);
    for (const ParameterReport& r : reports) uses_[r.name] = &r;
  }

  const PlacesByName& readers() const { return readers_; }

  // Gives the number of tensors that got new values. `strict`: one that no layer reads is an error.
  template <class F>
  int64_t run(F&& chosen, bool strict) {
    int64_t count = 0;
    for (auto& tensor : *graph_.mutable_initializer())
      if (chosen(tensor.name())) count += renew(tensor, tensor.name(), strict);
    for (auto& node : *graph_.mutable_node()) {
      if (node.op_type() != "Constant" || node.output_size() == 0 || !chosen(node.output(0))) continue;
      for (auto& a : *node.mutable_attribute())
        if (a.name() == "value" && a.has_t()) count += renew(*a.mutable_t(), node.output(0), false);
    }
    return count;
  }

 private:
  int64_t renew(onnx::TensorProto& tensor, const std::string& name, bool strict) {
    const auto type = data_type_of_onnx(tensor.data_type());
    if (!type || !is_float(*type)) return 0;
    const Dims dims(tensor.dims().begin(), tensor.dims().end());
    auto place = first_place(readers_, name, dims);
    if (!place && strict)
      throw Error(ErrorKind::usage, "'{}' is read by no layer: there are no start values for it", name);
    if (!place) return 0;
    if (const auto use = uses_.find(name); use != uses_.end()) place->use = use->second->use;
    set_values(tensor, dims, start_values(*place, name, edits_.start.value_or(StartRule::layer), edits_.seed));
    return 1;
  }

  onnx::GraphProto& graph_;
  const ModelEdits& edits_;
  PlacesByName readers_;
  Uses uses_;
};

void reinitialise_matching(ModelFile& file, const ModelEdits& edits, const std::string& pattern,
                           std::vector<std::string>& notices) {
  const auto matches = [&](const std::string& name) { return glob_matches(pattern, name); };
  make_initializers(file, matches);
  for (const auto& node : file.proto.graph().node())
    if (makes_floats(node) && matches(node.output(0)))
      throw Error(ErrorKind::unsupported, "'{}': its shape is no initializer", node.output(0));
  const std::vector<ParameterReport> reports = classify_tensors(file, {});
  const int64_t count = Renewal(file, edits, reports).run(matches, true);
  if (count == 0) throw Error(ErrorKind::usage, "--reinitialise {}: no float tensor has such a name", pattern);
  notices.push_back(
      fmt::format("{} tensor{} that match '{}' begin with new values", count, count == 1 ? "" : "s", pattern));
}

void reinitialise_all(ModelFile& file, const ModelEdits& edits, std::vector<std::string>& notices) {
  bool generates = false;
  const std::vector<ParameterReport> reports = reports_of(file, edits, generates);
  PlacesByName readers;
  add_readers(*file.proto.mutable_graph(), readers);
  const TensorNames names = trained_names(reports, readers);
  const auto is_wanted = [&](const std::string& name) { return names.count(name) > 0; };
  if (generates) make_initializers(file, is_wanted);
  const int64_t count = Renewal(file, edits, reports).run(is_wanted, false);
  if (count == 0) throw Error(ErrorKind::usage, "--reinit: the model has no tensor that trains; inspect says why");
  notices.push_back(fmt::format("{} tensors begin with new values: weights at random ({}), biases 0, scales 1", count,
                                *edits.start == StartRule::kaiming ? "kaiming" : "xavier"));
}

}  // namespace

void reinitialise(ModelFile& file, const ModelEdits& edits, std::vector<std::string>& notices) {
  for (const std::string& pattern : edits.reinitialised) reinitialise_matching(file, edits, pattern, notices);
  if (edits.start && edits.reinitialised.empty()) reinitialise_all(file, edits, notices);
}

}  // namespace arbalest
