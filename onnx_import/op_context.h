// What the translation of one ONNX operator sees of its node, and the table of translations.
//
// A translation is one function: Values f(OpContext&): it reads attributes and inputs and emits primitives. An
// attribute or an input that it never asked for is an error, raised by the importer after the call; so is an output
// that the model reads and the function does not give. Errors thrown inside get file, node name and operator in front.
// 16-bit floats are float32 here, types of less than 16 bits what narrow_type.h says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "onnx_import/parameters.h"

namespace arbalest {

// The batch that the file was exported with, for shapes that hold it.
struct ExportBatch {
  std::string symbol;           // of the free batch; empty: the batch is fixed, nothing is generalised
  std::optional<int64_t> size;  // none: the file's batch is free
};

// What a name of a model stands for: a tensor, a sequence of tensors whose length is known at import, or an optional
// without a value. Default: nothing, an unknown name.
struct Item {
  Item() = default;
  Item(Value tensor) : tensor(tensor) {}  // NOLINT: a tensor is an item
  static Item of_sequence(Values values) {
    Item item;
    item.sequence = std::make_shared<const Values>(std::move(values));
    return item;
  }
  static Item of_nothing() {
    Item item;
    item.absent = true;
    return item;
  }
  explicit operator bool() const { return tensor || sequence || absent; }

  Value tensor;
  std::shared_ptr<const Values> sequence;
  bool absent = false;
};

// How a subgraph is translated.
struct SubgraphCall {
  Value guard = {};                  // bool scalar: the results count only where it holds; none: everywhere
  std::optional<int64_t> trip = {};  // number of the trip through a loop, for the origin of the nodes
};

class OpContext {
 public:
  virtual ~OpContext() = default;

  // ---- the node
  virtual int version() const = 0;  // the operator's version: the newest listed one that the model's opset includes
  virtual int opset() const = 0;
  virtual int input_count() const = 0;
  virtual int output_count() const = 0;        // names in the file, trailing empty ones included
  virtual bool has_input(int i) = 0;           // present and not the empty name
  virtual bool output_named(int i) const = 0;  // present and not the empty name
  virtual bool output_used(int i) const = 0;   // named, and read by a node or an output of the model
  virtual Builder& builder() = 0;

  // ---- the import
  virtual bool training() const = 0;  // ImportMode::training
  virtual bool dropout() const = 0;
  virtual bool straight_through() const = 0;  // step functions pass the gradient
  virtual BatchNormPolicy batch_norm() const = 0;
  virtual const ExportBatch& export_batch() const = 0;
  virtual int64_t random_stream() const = 0;  // differs from node to node
  // The value that the data gave what the node computes its graph from; null: not known yet, a guess will do
  // (SegmentEnd::rebuild).
  virtual TensorPtr told() const = 0;

  // ---- inputs; asking marks them as known
  virtual Value input(int i) = 0;  // model error when missing
  virtual Item item(int i) = 0;    // the same; of any kind
  // The element type of input i in the file: ONNX's number. The Value has a wider one where the type is narrow.
  virtual int32_t onnx_type(int i) = 0;
  // Tells the narrow type of an output (narrow_type.h) to those that ask with onnx_type().
  virtual void set_onnx_type(int output, int32_t type) = 0;
  // What a name of the model stands for where the node stands; none where nothing before it gives the name a value.
  virtual Value named(const std::string& name) = 0;
  Value optional_input(int i) { return has_input(i) ? input(i) : Value(); }
  // The elements of an integer input, known at import as expressions of the symbols; unsupported error when only the
  // data tell them.
  virtual std::vector<Dim> contents(int i) = 0;
  // The same as plain numbers (axes, repeats, ...).
  std::vector<int64_t> constant_integers(int i);
  int64_t constant_integer(int i);  // of one element
  // A constant input of any type; null when it is not constant.
  virtual TensorPtr constant_tensor(int i) = 0;
  // The elements of a constant input as doubles, none when it is not constant (bounds, scales, exponents).
  std::optional<std::vector<double>> constant_numbers(int i);
  std::optional<double> constant_number(int i);  // of one element
  // Input i as a running statistic: a state, if a tensor of the model stands behind it; else the plain input.
  virtual Value state_input(int i) = 0;
  // The value of that state after the step; nothing to do where input i is no state.
  virtual void update_state(int i, Value next) = 0;

  // ---- attributes; asking marks them as known
  virtual bool has_attribute(const std::string& name) = 0;
  virtual int64_t attribute(const std::string& name, int64_t otherwise) = 0;
  int64_t attribute(const std::string& name, int otherwise) { return attribute(name, static_cast<int64_t>(otherwise)); }
  virtual float attribute(const std::string& name, float otherwise) = 0;
  virtual std::string attribute(const std::string& name, const std::string& otherwise) = 0;
  std::string attribute(const std::string& name, const char* otherwise) {
    return attribute(name, std::string(otherwise));
  }
  virtual std::vector<int64_t> attribute(const std::string& name, const std::vector<int64_t>& otherwise) = 0;
  virtual std::vector<float> float_list(const std::string& name) = 0;
  virtual std::vector<std::string> string_list(const std::string& name) = 0;
  virtual TensorPtr tensor_attribute(const std::string& name) = 0;  // null when absent
  virtual TensorPtr constant_value() = 0;                           // of a Constant node, whichever attribute holds it
  int64_t required_integer(const std::string& name);                // model error: "attribute 'to' is missing"
  std::vector<int64_t> required_integers(const std::string& name);
  // From the attribute before version `input_since`, from input `input` from then on; none when absent.
  std::optional<std::vector<int64_t>> integers_attribute_or_input(const std::string& name, int input, int input_since);
  void ignore_attribute(const std::string& name) { has_attribute(name); }  // known, of no consequence here

  // ---- subgraphs
  // Translates the subgraph of an attribute with these values of its inputs; returns those of its outputs. Each call
  // translates it anew.
  virtual std::vector<Item> subgraph(const std::string& attribute, const std::vector<Item>& inputs,
                                     const SubgraphCall& call) = 0;

  // ---- results
  // An output that is no tensor, in place of the value that the translation returns.
  virtual void give(int output, Item item) = 0;
  // A notice for the user, with the node's name in front.
  virtual void notice(const std::string& text) = 0;
};

// Steps of a sequence or a loop get nodes of their own: so many at most.
constexpr int64_t kMaxSteps = 20'000;
// The number of steps; unsupported error when it is open, model error when it is more.
int64_t unrolled_steps(const Dim& steps);

using Translation = std::function<Values(OpContext&)>;

// The translation of an operator without attributes that is a scalar function of its one input. (consumed_inputs: an
// attribute of version 1 that old files still have.)
template <class F>
Translation elementwise(F f) {
  return [f](OpContext& op) {
    op.ignore_attribute("consumed_inputs");
    return Values{map(f, op.input(0))};
  };
}

class Translator {
 public:
  // Versions: those of the ONNX operator that the function handles, ascending. `domain` "" is the default domain.
  void add(const std::string& op, std::vector<int> versions, Translation f, const std::string& domain = "");

  struct Entry {
    std::vector<int> versions;
    Translation translation;
    std::optional<int> version_for(int opset) const;  // none: the operator is newer than the opset
  };
  // domain, operator -> versions and function; what docs and completeness tests list.
  const std::map<std::pair<std::string, std::string>, Entry>& entries() const { return entries_; }

 private:
  std::map<std::pair<std::string, std::string>, Entry> entries_;
};

// All translations; calls register_<family>() of each file in ops/ (the list is generated by CMake from the folder).
const Translator& translator();

}  // namespace arbalest
