// Parameters that are not simply the file's tensors: float32 masters of float64 tensors, tensors that are kept equal,
// entries that are kept as they are.
//
// The graph computes the tensor from its parameter (a cast, a transposition, a choice between trained and kept
// elements), so gradients are right whatever the optimiser does; complete() computes the same for the file.
// Errors: usage for a name that does not train, shapes that do not fit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "onnx_import/trainability.h"

namespace arbalest {

// What the user asked for.
struct ParameterForms {
  // Pairs of tensors that train as one, of equal or transposed shapes: the second follows the first.
  std::vector<std::pair<std::string, std::string>> ties;
  bool float64 = false;  // float64 tensors train as they are, without masters
  // Of some tensors only the entries where the mask is not 0 train.
  std::map<std::string, TensorPtr> masks;
};

// What the graph was given; of an import.
struct GivenForms {
  struct Tie {
    std::string original, copy;
    bool transposed;
  };
  struct Mask {
    std::string name;
    TensorPtr trains, initial;  // of one shape; initial in float32
  };
  std::vector<Tie> ties;
  std::vector<Mask> masks;
};

// Defines the values of the tensors that train: inputs of the graph, and what follows from them, by the tensors'
// places; none for the others.
Values add_parameters(Builder& builder, const std::vector<ModelTensor>& tensors,
                      const std::vector<ParameterReport>& reports, const ParameterForms& wanted, GivenForms& given);

// From the trained parameters to the tensors of the file.
void complete(const GivenForms& forms, std::map<std::string, HostTensor>& trained);

// A notice for each pair of trained matrices that are equal or the transposes of each other.
std::vector<std::string> find_equal_matrices(const std::vector<ModelTensor>& tensors,
                                             const std::vector<ParameterReport>& reports);

}  // namespace arbalest
