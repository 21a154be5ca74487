// Attaches a loss to a model output, and the count of right predictions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace arbalest {

enum class LossKind : uint8_t {
  cross_entropy,         // mean over all positions of softmax cross-entropy, integer labels
  mean_squared_error,    // mean over all elements of (output - label)^2
  binary_cross_entropy,  // mean over all elements, from logits
  output_mean,           // the mean of the output itself: the graph computes the loss
  output_sum,            // the sum of the output's elements
};

struct LossOptions {
  LossKind kind = LossKind::cross_entropy;
  std::string output;             // empty: the only float output, else a usage error that lists them
  std::optional<int> class_axis;  // of cross-entropy; default 1, or the last axis of a rank-2 output
  std::optional<int64_t> ignore_index;
  std::vector<float> class_weights;
  double weight = 1;            // in a sum of several losses
  std::string label = "label";  // the graph input
};

// Sets graph.loss (scalar) and graph.correct (cross-entropy and, for one-column outputs, binary: int64 scalar), and
// adds a graph input with role label, named "label" or, where that name is taken, "label_" (int64 of the output's shape
// without the class axis, or float of its shape). A final Softmax, LogSoftmax or Sigmoid of the output (also behind
// Identity, Reshape of equal shape, StopGradient-free) is recognised and never applied twice. Returns a notice for the
// user where something was recognised, else "".
std::string attach_loss(Graph& graph, const LossOptions& options);

// Sets graph.loss to the weighted sum of several losses, each with a label input of its own, and graph.correct to the
// count of the first that has one. Returns the notices.
std::vector<std::string> attach_losses(Graph& graph, const std::vector<LossOptions>& losses);

}  // namespace arbalest
