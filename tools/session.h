// A model opened for a command: its file, and the graphs that training and evaluation start from.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "data/catalog.h"
#include "exec/compile.h"
#include "graph/loss.h"
#include "onnx_import/importer.h"
#include "onnx_import/model.h"

namespace arbalest::tools {

struct ModelArguments {
  std::string path;
  std::string loss = "auto";
  std::string output;
  std::optional<int> class_axis;
  std::vector<std::string> train;
  std::vector<std::string> freeze;
  std::vector<std::string> dims;  // NAME=SIZE
  bool dropout = false;
};

void add_model_argument(CLI::App& command, ModelArguments& arguments);
void add_loss_options(CLI::App& command, ModelArguments& arguments);
void add_selection_options(CLI::App& command, ModelArguments& arguments);

// What is known of the data when a graph is made: sizes of one example by input, and whether labels are classes.
struct DataFacts {
  std::map<std::string, Dims> samples;
  std::map<std::string, int64_t> examples;  // size of the first axis by input; empty: not known yet
  bool class_labels = true;
};

struct Session {
  ModelPtr model;
  Imported training;    // with loss attached, gradients not yet
  Imported evaluation;  // inference form, with loss attached
  LossKind loss = LossKind::cross_entropy;
  std::vector<std::string> notices;

  const std::string& batch_symbol() const { return training.batch_symbol; }
  // Bindings for a batch; usage error when the model has a fixed batch of another size.
  Bindings batch(int64_t size) const;
  int64_t classes() const;  // of the logits, where the loss is cross-entropy
  // Size of the batch axis, where the file fixes it.
  std::optional<int64_t> fixed_batch() const;
};

// Imports the model twice and attaches the loss. Sizes of an input that the file leaves open are taken from the data.
Session open_session(const ModelArguments& arguments, const DataFacts& data);
Session open_session(ModelPtr model, const ModelArguments& arguments, const DataFacts& data);

// The data set's inputs by the model's input names (one input: whatever the names). Usage error when the sizes of an
// example do not fit the model: "input 'x' takes 3 x 32 x 32, fashion-mnist has 1 x 28 x 28".
std::vector<std::string> match_inputs(const Graph& graph, const Dataset& data);
DataFacts facts_of(const Dataset& data);

}  // namespace arbalest::tools
