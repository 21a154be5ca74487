// Passes over flat arrays by which models are averaged. Sums run over the models in the order given, hence the same
// bits every time. All arrays have n elements; an output may be one of the inputs, but not overlap one otherwise.
#pragma once

#include <cstdint>
#include <span>

namespace arbalest {

// out = sum_j x_j / count of x
void mean_of(std::span<const float* const> x, float* out, int64_t n);
// out = sum_j x_j
void sum_of(std::span<const float* const> x, float* out, int64_t n);
// out = sum_j (x_j - z)
void sum_differences(std::span<const float* const> x, const float* z, float* out, int64_t n);

// The central average model after an iteration (SMA): z + alpha d + mu (z - z_previous), where d is sum_j (x_j - z) ...
void average_models(std::span<const float* const> x, const float* z, const float* z_previous, float* z_next,
                    float alpha, float mu, int64_t n);
// ... or already summed.
void apply_differences(const float* difference, const float* z, const float* z_previous, float* z_next, float alpha,
                       float mu, int64_t n);

}  // namespace arbalest
