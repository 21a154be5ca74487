// Which messages of a serialised model get a new value.
//
// A message is known by where its first byte lies in the model's bytes: a TensorProto (of an initializer, or the
// `value` of a Constant), a SparseTensorProto (initializer), or an AttributeProto (value_float, value_floats,
// sparse_value of a Constant). A name of the main graph (or of an algorithm of training_info) means its tensors; only
// the others are searched in subgraphs. Internal error for a name that is not there and for another shape.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/error.h"
#include "graph/host_tensor.h"

namespace arbalest {

// A message inside the model. It was parsed once with the model, unless libonnx does not know the field that it lies
// in.
template <class Proto>
Proto parse_part(std::string_view message) {
  Proto proto;
  require(proto.ParseFromArray(message.data(), static_cast<int>(message.size())), "a part of the model is corrupt");
  return proto;
}

class ExportTargets {
 public:
  ExportTargets(std::string_view model, const std::map<std::string, HostTensor>& trained);

  // The new value of a message, null when it has none. Values of tensors are of the tensor's element type.
  const HostTensor* at(std::string_view message) const;

 private:
  void add_graph(std::string_view graph);
  void add_algorithm(std::string_view training_info);
  void add_tensor(std::string_view message, const HostTensor& value);
  void add_sparse(std::string_view message);
  void add_constant(std::string_view node);
  void add_subgraphs(std::string_view node);
  const HostTensor* find(std::optional<std::string_view> name);

  const std::map<std::string, HostTensor>& trained_;
  std::set<std::string> found_;
  std::set<std::string> in_main_graph_;      // names found there; known once it has been searched
  std::vector<std::string_view> subgraphs_;  // to be searched
  std::map<const char*, const HostTensor*> values_;
  std::deque<HostTensor> converted_;
};

}  // namespace arbalest
