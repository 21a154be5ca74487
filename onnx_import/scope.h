// What the names of a model mean while its nodes are translated.
//
// Invariant: a name has a meaning before a node that reads it is translated. Tensors of the model become inputs or
// Constants when they are first read. A subgraph has a frame of names of its own, which hide those outside.
//
// A frame may have a guard, a bool scalar: the subgraph counts only where it holds. Floats that come in from outside
// pass nothing back where it does not hold, so that a branch which is not taken gives no NaN; running statistics stay.
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx_import/flat_graph.h"
#include "onnx_import/op_context.h"
#include "onnx_import/parameter_forms.h"
#include "onnx_import/trainability.h"

namespace arbalest {

// float32 for 16-bit floats: weights are kept and computed with in float32.
DataType compute_type(DataType file_type);
TensorPtr in_compute_type(const TensorPtr& tensor);

class Scope {
 public:
  Scope(Graph& graph, const std::vector<ModelTensor>& tensors, const std::vector<ParameterReport>& reports,
        const ParameterForms& wanted, GivenForms& given);

  Builder& builder() { return builder_; }
  void define(const std::string& name, const Item& item);
  Item find(const std::string& name);    // nothing: unknown, because the node that gives it failed
  Value state(const std::string& name);  // none: no tensor of the model has the name
  void update_state(const std::string& name, Value next);
  // Element type of the value in the file, where the file or a node tells one that is kept in a wider type.
  int32_t onnx_type(const std::string& name);
  void set_onnx_type(const std::string& name, int32_t type);
  // Of a tensor that the innermost graph holds itself, in the compute type; null for anything else.
  TensorPtr own_tensor(const std::string& name) const;
  bool in_subgraph() const { return frames_.size() > 1; }

  // Enters a subgraph until it is destroyed.
  class Subgraph {
   public:
    Subgraph(Scope& scope, const FlatBody& body, Value guard);
    ~Subgraph() { scope_.frames_.pop_back(); }
    Subgraph(const Subgraph&) = delete;
    Subgraph& operator=(const Subgraph&) = delete;

    void define_input(const std::string& name, const Item& item);

   private:
    Scope& scope_;
  };

 private:
  using TensorIndex = std::unordered_map<std::string, size_t>;
  struct Frame {
    const TensorIndex* tensors;  // of this graph
    Value guard;
    std::unordered_map<std::string, Item> items;
  };

  Item find(const std::string& name, size_t depth);
  Value value_of_tensor(size_t index);
  Item guarded(const Item& item, const Value& guard);
  Value guarded(const Value& value, const Value& guard);

  Builder builder_;
  const std::vector<ModelTensor>& tensors_;
  TensorIndex main_tensors_;
  std::vector<Value> tensor_values_;  // by place among the tensors; none: not read yet
  std::deque<Frame> frames_;          // the main graph, and the subgraphs inside it that are being translated
  std::unordered_map<std::string, Value> states_;        // inputs of the graph, float32
  std::unordered_map<std::string, int32_t> onnx_types_;  // of 16-bit floats and narrow types
  std::unordered_map<std::string, size_t> updates_;      // state name -> place in graph.updates
};

}  // namespace arbalest
