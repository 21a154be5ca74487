// Writes ONNX models: for the reference models and for tests.
//
// A GraphBuilder and a ModelBuilder are plain descriptions; bytes() turns them into a serialised ModelProto, the same
// bytes for the same description. Nothing is checked here: faulty models can be described too, for the tests of the
// importer. Symbols in a shape become dim_param ("N x 3" is a free batch). Tensors are written as raw_data.
//
//   ModelBuilder m(17);
//   m.graph.input("x", {DataType::f32, {Dim::symbol("N"), 3}})
//       .initializer("w", HostTensor::f32({3, 2}, values))
//       .node("MatMul", {"x", "w"}, {"h"})
//       .node("LeakyRelu", {"h"}, {"y"}, {{"alpha", 0.1}})
//       .output("y", {DataType::f32, {Dim::symbol("N"), 2}});
//   m.bytes();
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/host_tensor.h"
#include "graph/types.h"

namespace arbalest {

class GraphBuilder;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

// The value of a node's attribute, of the kind that its C++ type says.
class AttributeValue {
 public:
  using Variant =
      std::variant<int64_t, float, std::string, Ints, Floats, Strings, HostTensor, std::shared_ptr<const GraphBuilder>>;
  AttributeValue(std::integral auto v) : value_(static_cast<int64_t>(v)) {}      // NOLINT: written in braces
  AttributeValue(std::floating_point auto v) : value_(static_cast<float>(v)) {}  // NOLINT
  AttributeValue(const char* v) : value_(std::string(v)) {}                      // NOLINT
  AttributeValue(std::string v) : value_(std::move(v)) {}                        // NOLINT
  AttributeValue(Ints v) : value_(std::move(v)) {}                               // NOLINT
  AttributeValue(Floats v) : value_(std::move(v)) {}                             // NOLINT
  AttributeValue(Strings v) : value_(std::move(v)) {}                            // NOLINT
  AttributeValue(HostTensor v) : value_(std::move(v)) {}                         // NOLINT
  AttributeValue(GraphBuilder v);                                                // NOLINT: a body of If, Loop, Scan

  const Variant& value() const { return value_; }

 private:
  Variant value_;
};

using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

struct NodeDescription {
  std::string op_type;
  Strings inputs;  // "" for an optional input that is left out
  Strings outputs;
  Attributes attributes;
  std::string name;
  std::string domain;
};

// A graph input or output. Without a type only its name is written (bodies, functions).
struct ValueDescription {
  std::string name;
  std::optional<TensorType> type;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = "main") : name(std::move(name)) {}

  GraphBuilder& input(std::string name, std::optional<TensorType> type = std::nullopt);
  GraphBuilder& output(std::string name, std::optional<TensorType> type = std::nullopt);
  GraphBuilder& initializer(std::string name, HostTensor value);
  GraphBuilder& node(std::string op_type, Strings inputs, Strings outputs, Attributes attributes = {},
                     std::string name = "", std::string domain = "");

  std::string name;
  std::vector<ValueDescription> inputs, outputs;
  std::vector<std::pair<std::string, HostTensor>> initializers;
  std::vector<NodeDescription> nodes;
};

struct FunctionDescription {
  std::string domain;
  std::string name;
  GraphBuilder body;  // input and output names, nodes
  int64_t opset;
};

class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset = 17);

  ModelBuilder& opset(std::string domain, int64_t version);
  ModelBuilder& metadata(std::string key, std::string value);
  ModelBuilder& function(std::string domain, std::string name, GraphBuilder body);

  std::string bytes() const;  // unsupported error beyond 2 GiB, the limit of protobuf

  GraphBuilder graph;
  int64_t ir_version;  // set by the constructor to the one that ONNX released with the opset, at least 4
  std::string doc_string;
  std::vector<std::pair<std::string, int64_t>> opsets;
  std::vector<std::pair<std::string, std::string>> metadata_props;
  std::vector<FunctionDescription> functions;
};

}  // namespace arbalest
