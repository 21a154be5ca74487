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
  std::vector<std::string> losses;  // KIND or OUTPUT=KIND or OUTPUT=KIND*WEIGHT; empty: chosen by model and labels
  std::string output;               // of a loss that names none
  std::optional<int> class_axis;
  std::optional<int64_t> ignore_index;
  std::vector<float> class_weights;
  std::vector<std::string> train;
  std::vector<std::string> freeze;
  std::vector<std::string> dims;           // NAME=SIZE
  std::string freeze_masks;                // an .npz file
  std::map<std::string, TensorPtr> masks;  // of freeze_masks, by tensor
  std::vector<std::string> ties;           // ORIGINAL=COPY
  std::vector<std::string> batch_norm;     // POLICY or NODE=POLICY
  std::vector<std::string> heads;          // LAYER=OUTPUTS
  std::vector<std::string> reinitialised;
  std::string start_values;  // kaiming or xavier; empty: none asked for
  bool keep_shared = false;
  uint64_t seed = 1;  // of new values
  bool straight_through = false;
  bool dropout = false;
};

void add_model_argument(CLI::App& command, ModelArguments& arguments);
void add_size_option(CLI::App& command, ModelArguments& arguments);  // part of the above
void add_loss_options(CLI::App& command, ModelArguments& arguments);
void add_selection_options(CLI::App& command, ModelArguments& arguments);
// Changes to the model before training: another output layer, new start values, copies of merged tensors.
void add_edit_options(CLI::App& command, ModelArguments& arguments);
// How layers behave while training: BatchNormalization, Dropout, step functions.
void add_layer_options(CLI::App& command, ModelArguments& arguments);

// What is known of the data when a graph is made: sizes of one example by input, and whether labels are classes.
struct DataFacts {
  std::map<std::string, Dims> samples;
  std::map<std::string, int64_t> examples;  // size of the first axis by input; empty: not known yet
  bool class_labels = true;
};

struct Session {
  ModelPtr model;       // edited as the arguments say
  Imported training;    // with loss attached, gradients not yet
  Imported evaluation;  // inference form, with loss attached
  std::vector<LossOptions> losses;
  std::vector<std::string> notices;

  const std::string& batch_symbol() const { return training.batch_symbol; }
  // Bindings for a batch; usage error when the model has a fixed batch of another size.
  Bindings batch(int64_t size) const;
  // Of the logits of cross-entropy; the fewest where there are several, none where no loss is one.
  std::optional<int64_t> classes() const;
  void require_parameters() const;  // model error that says why nothing trains
  // From the parameters to the tensors of the file.
  std::map<std::string, HostTensor> completed(std::map<std::string, HostTensor> trained) const;
  // Other start values than the file's. Usage error for a tensor that does not train, or of another shape.
  void set_initial(const std::string& name, const HostTensor& value);
  // Size of the batch axis, where the file fixes it.
  std::optional<int64_t> fixed_batch() const;
};

// What the import needs to know of the arguments. Usage error for what cannot be understood.
ImportOptions import_options(const ModelArguments& arguments);

// A notice where no gradient reaches tensors that train: they stay as they are.
std::vector<std::string> gradient_notices(const Session& session, const Bindings& bindings);

// Imports the model twice and attaches the loss. Sizes of an input that the file leaves open are taken from the data.
Session open_session(const ModelArguments& arguments, const DataFacts& data);
Session open_session(ModelPtr model, const ModelArguments& arguments, const DataFacts& data);

// The data set's inputs by the model's input names (one input: whatever the names). Usage error when the sizes of an
// example do not fit the model: "input 'x' takes 3 x 32 x 32, fashion-mnist has 1 x 28 x 28".
std::vector<std::string> match_inputs(const Graph& graph, const Dataset& data);
DataFacts facts_of(const Dataset& data);

}  // namespace arbalest::tools
