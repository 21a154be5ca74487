#include <algorithm>
#include <unordered_map>

#include "graph/base/error.h"
#include "onnx_import/edits/edit.h"
#include "onnx_import/equal_elements.h"
#include "onnx_import/flat_graph.h"
#include "onnx_import/tensor_reader.h"

namespace arbalest {
namespace {

using UsePlaces = std::vector<ReaderPlace>;

bool is_scale_or_bias(const ReaderPlace& place) {
  const std::string& op = place.node->op_type();
  if (op.ends_with("Normalization")) return place.input == 1 || place.input == 2;
  return (op == "Gemm" || op == "Conv") && place.input == 2;
}

bool is_weight(const ReaderPlace& place) {
  const std::string& op = place.node->op_type();
  return (op == "Gemm" || op == "MatMul" || op == "Conv") && place.input == 1;
}

}  // namespace

// A layer that is meant to be used several times shares its matrices too; then nothing is taken apart.
int untie_merged(const ModelFile& file, onnx::ModelProto& model, std::vector<std::string>& notices) {
  onnx::GraphProto& graph = *model.mutable_graph();
  std::unordered_map<std::string, UsePlaces> readers;
  for (auto& node : *graph.mutable_node())
    for (int i = 0; i < node.input_size(); ++i) readers[node.input(i)].push_back({&node, i});
  std::vector<const onnx::TensorProto*> merged;
  for (const auto& tensor : graph.initializer()) {
    const UsePlaces& places = readers[tensor.name()];
    if (std::count_if(places.begin(), places.end(), is_weight) > 1) return 0;
    const bool is_merged = places.size() > 1 && std::all_of(places.begin(), places.end(), is_scale_or_bias);
    if (is_merged && tensor.dims_size() == 1 && tensor.dims(0) > 1) merged.push_back(&tensor);
  }
  if (merged.empty()) return 0;
  UnusedNames names(graph);
  int copies = 0;
  std::vector<onnx::TensorProto> added;
  for (const onnx::TensorProto* tensor : merged) {
    if (!has_equal_elements(read_tensor(*tensor, file))) continue;
    const UsePlaces& places = readers[tensor->name()];
    std::vector<std::string> layers{fmt::format("'{}'", node_name(*places[0].node))};
    for (size_t i = 1; i < places.size(); ++i) {
      onnx::TensorProto copy = *tensor;
      copy.set_name(names.take(tensor->name() + "/" + node_name(*places[i].node)));
      places[i].node->set_input(places[i].input, copy.name());
      added.push_back(std::move(copy));
      layers.push_back(fmt::format("'{}'", node_name(*places[i].node)));
      ++copies;
    }
    constexpr size_t kShown = 4;
    const std::string more = layers.size() > kShown ? fmt::format(" and {} more", layers.size() - kShown) : "";
    layers.resize(std::min(layers.size(), kShown));
    notices.push_back(
        fmt::format("'{}' is one tensor of equal values in {}{}: each trains a copy of its own (--keep-shared: as one)",
                    tensor->name(), fmt::join(layers, ", "), more));
  }
  for (onnx::TensorProto& copy : added) add_initializer(model, std::move(copy));
  return copies;
}

}  // namespace arbalest
