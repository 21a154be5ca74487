// Which tensors of a model train, and why: the trainability report.
//
// A float initializer trains unless it is a running statistic, a bound, a scale of Resize or of quantisation, has one
// element (and is not selected by name), reaches no output, feeds only shape arithmetic, or is by its values a mask or
// a table that a module computes once (constant_tables.h). Constants of weight size train only in models that have no
// float initializer that trains. Rules: README of the golden models and of the cases.
#pragma once

#include <string>
#include <vector>

#include "graph/types.h"

namespace arbalest {

// Where BatchNormalization takes its statistics from while training.
enum class BatchNormPolicy : uint8_t {
  batch,   // from the batch, whatever the file says; running statistics follow
  frozen,  // the running statistics, which stay as they are
  file,    // as the node's training_mode (or is_test, or number of outputs) says
};

// What the user asked for; globs over initializer names and names of consuming nodes ("*", "?", "[...]").
struct ParameterSelection {
  std::vector<std::string> train;   // also one-element tensors; empty: the defaults
  std::vector<std::string> freeze;  // wins over train
};

enum class TensorUse : uint8_t {
  weight,
  bias,
  norm_scale,
  norm_bias,
  embedding,
  running_statistic,
  scalar_constant,
  shape,
  quantisation,
  bound,
  unused,
  hidden,  // in a subgraph, under a name that another tensor has too
  other,
};

struct ParameterReport {
  std::string name;
  TensorType type;
  TensorUse use = TensorUse::other;
  bool trains = false;
  std::string why;  // "weight of conv1 (Conv)", "running mean of bn1 (BatchNormalization): follows the batches"
};

std::string_view name_of(TensorUse use);

}  // namespace arbalest
