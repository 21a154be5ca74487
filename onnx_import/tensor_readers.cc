#include "onnx_import/tensor_readers.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace arbalest {
namespace {

// Nodes that move or convert the tensor at input 0 (Concat: at any), so that who reads their output reads the tensor.
constexpr std::string_view kPassing[] = {"Identity",  "Transpose", "Reshape",  "Flatten",        "Squeeze",
                                         "Unsqueeze", "Cast",      "CastLike", "Expand",         "Tile",
                                         "Split",     "Slice",     "Pad",      "QuantizeLinear", "DequantizeLinear"};

bool passes(const onnx::NodeProto& node, int input) {
  if (node.op_type() == "Concat") return true;
  return input == 0 && std::find(std::begin(kPassing), std::end(kPassing), node.op_type()) != std::end(kPassing);
}

// A name carries a tensor, or what the names that a node joined carry: an index into a pool, in which the parts come
// before the whole. Hence long chains cost their length.
using Carrier = int;
constexpr Carrier kNothing = -1;
constexpr size_t kNoTensor = static_cast<size_t>(-1);
// So many readers of joined tensors tell what they are; the rest are not looked at.
constexpr int kMostReadersOfParts = 64;

class ReaderSearch {
 public:
  explicit ReaderSearch(const std::vector<ModelTensor>& tensors) : readers_(tensors.size()) {
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!tensors[i].in_subgraph) carried_[tensors[i].name] = carrier_of(i);
  }

  void visit(const std::vector<FlatNode>& nodes) {
    for (const FlatNode& node : nodes) visit(node);
  }

  std::vector<std::vector<TensorReader>> result() { return std::move(readers_); }

 private:
  struct Entry {
    size_t tensor = kNoTensor;
    std::vector<Carrier> parts;
    int readers = 0;
    size_t seen_in = 0;  // the last walk that came here
  };

  Carrier carrier_of(size_t tensor) {
    pool_.push_back({tensor, {}, 0, 0});
    return static_cast<Carrier>(pool_.size()) - 1;
  }

  Carrier joined(std::vector<Carrier> parts) {
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    if (!parts.empty() && parts.front() == kNothing) parts.erase(parts.begin());
    if (parts.empty()) return kNothing;
    if (parts.size() == 1) return parts.front();
    pool_.push_back({kNoTensor, std::move(parts), 0, 0});
    return static_cast<Carrier>(pool_.size()) - 1;
  }

  // A reader of all that the carrier has.
  void add_reader(Carrier carrier, const TensorReader& reader) {
    ++walk_;
    std::vector<Carrier> path{carrier};
    while (!path.empty()) {
      Entry& entry = pool_[static_cast<size_t>(path.back())];
      path.pop_back();
      if (std::exchange(entry.seen_in, walk_) == walk_) continue;
      if (entry.tensor != kNoTensor) {
        readers_[entry.tensor].push_back(reader);
      } else if (entry.readers++ < kMostReadersOfParts) {
        path.insert(path.end(), entry.parts.begin(), entry.parts.end());
      }
    }
  }

  void visit(const FlatNode& node) {
    const auto& inputs = node.proto->input();
    std::vector<Carrier> passed;
    for (int k = 0; k < inputs.size(); ++k) {
      const Carrier carrier = carried_by(inputs[k]);
      if (carrier == kNothing) continue;
      if (passes(*node.proto, k)) {
        passed.push_back(carrier);
      } else {
        add_reader(carrier, {&node, k});
      }
    }
    std::vector<Carrier> outputs(static_cast<size_t>(node.proto->output_size()), joined(std::move(passed)));
    for (const auto& [attribute, body] : node.bodies) visit_body(node, *body, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = node.proto->output(static_cast<int>(i));
      if (!name.empty() && outputs[i] != kNothing) set(name, outputs[i]);
    }
  }

  // Inside, the body's own names hide those outside.
  void visit_body(const FlatNode& node, const FlatBody& body, std::vector<Carrier>& outputs) {
    const bool is_loop = node.proto->op_type() == "Loop";
    const int first_input = node.proto->op_type() == "Scan" && node.opset < 9 ? 1 : 0;  // after the lengths
    std::vector<Carrier> inputs;
    for (int k = 0; k < body.graph->input_size(); ++k) {
      const int i = k + first_input;
      inputs.push_back(i < node.proto->input_size() ? carried_by(node.proto->input(i)) : kNothing);
    }
    const size_t outside = hidden_.size();
    for (int k = 0; k < body.graph->input_size(); ++k) set(body.graph->input(k).name(), inputs[static_cast<size_t>(k)]);
    for (const FlatNode& inner : body.nodes) {
      for (const std::string& name : inner.proto->output()) set(name, kNothing);
    }
    for (const auto& tensor : body.tensors) set(tensor.first, carrier_of(tensor.second));
    visit(body.nodes);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int k = static_cast<int>(i) + (is_loop ? 1 : 0);  // after the condition
      if (k < body.graph->output_size()) outputs[i] = joined({outputs[i], carried_by(body.graph->output(k).name())});
    }
    for (; hidden_.size() > outside; hidden_.pop_back()) carried_[hidden_.back().first] = hidden_.back().second;
  }

  Carrier carried_by(const std::string& name) const {
    const auto found = carried_.find(name);
    return found == carried_.end() ? kNothing : found->second;
  }

  void set(const std::string& name, Carrier carrier) {
    Carrier& known = carried_.try_emplace(name, kNothing).first->second;
    hidden_.emplace_back(name, std::exchange(known, carrier));
  }

  std::vector<Entry> pool_;
  std::unordered_map<std::string, Carrier> carried_;
  std::vector<std::pair<std::string, Carrier>> hidden_;  // what names carried before, for the end of a body
  std::vector<std::vector<TensorReader>> readers_;
  size_t walk_ = 0;
};

}  // namespace

std::vector<std::vector<TensorReader>> find_tensor_readers(const std::vector<ModelTensor>& tensors,
                                                           const FlatGraph& graph) {
  ReaderSearch search(tensors);
  search.visit(graph.nodes);
  return search.result();
}

}  // namespace arbalest
