// The inner loops of the optimisers, vectorised: coefficients in, flat arrays in and out.
#pragma once

#include <cstdint>

#include "exec/optimiser/optimiser.h"

namespace arbalest {

// Of one segment at one step.
struct Coefficients {
  double learning_rate = 0;  // times the segment's rate
  double correction = 0;
  double weight_decay = 0;
  double momentum = 0;
  double fresh = 1;  // weight of the new direction in the momentum: 1 - dampening
  bool nesterov = false;
  double beta1 = 0, beta2 = 0, epsilon = 0;
  double bias1 = 1;  // 1 / (1 - beta1^t)
  double bias2 = 1;  // 1 / sqrt(1 - beta2^t)
  double scale = 1;  // of the gradient: norm clipping
  double bound = 0;  // of the gradient's elements; infinity: none
  double ratio = 1;  // of the segment: lamb, lars
};

// n elements; `kind` says which rule.
void apply_rule(OptimiserKind kind, const UpdateArrays<float>& arrays, const Coefficients& c, int64_t n);
void apply_rule(OptimiserKind kind, const UpdateArrays<double>& arrays, const Coefficients& c, int64_t n);

// First half of lamb: moves both moments; the gradients become the direction that the ratio then scales.
void lamb_direction(const UpdateArrays<float>& arrays, const Coefficients& c, int64_t n);
void lamb_direction(const UpdateArrays<double>& arrays, const Coefficients& c, int64_t n);

double sum_of_squares(const float* x, int64_t n);
double sum_of_squares(const double* x, int64_t n);
// Of the gradients as a rule sees them: scaled and clipped.
double sum_of_clipped_squares(const float* gradients, const Coefficients& c, int64_t n);
double sum_of_clipped_squares(const double* gradients, const Coefficients& c, int64_t n);

}  // namespace arbalest
