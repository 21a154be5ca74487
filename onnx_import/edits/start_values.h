// The values with which the tensors of a layer begin that has not been trained.
//
// A weight is uniform within a bound that the rule gives; biases are 0, scales of norms 1, running means 0 and
// variances
// 1. The same seed and name give the same values.
//
// Sources: He et al., "Delving Deep into Rectifiers", ICCV 2015 (kaiming); Glorot and Bengio, AISTATS 2010 (xavier).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx_import/edits/edit.h"
#include "onnx_import/parameters.h"

namespace arbalest {

struct TensorPlace {
  ReaderPlace reader;
  Dims dims;  // as the reader sees them
  TensorUse use = TensorUse::other;
};

std::vector<float> start_values(const TensorPlace& at, const std::string& name, StartRule rule, uint64_t seed);
// Uniform within +-bound.
std::vector<float> uniform_values(int64_t count, double bound, const std::string& name, uint64_t seed);

}  // namespace arbalest
