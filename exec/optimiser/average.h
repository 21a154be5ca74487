// Passes over flat arrays by which models are averaged. Sums run over the models in the order given, hence the same
// bits every time. The elements [begin, end) are computed, any parts give the same bits. An output may be one of the
// inputs.
#pragma once

#include <cstdint>
#include <span>

namespace arbalest {

// out = scale sum_j x_j; `out` points to where element `begin` goes.
void sum_of(std::span<const float* const> x, float scale, float* out, int64_t begin, int64_t end);
// out = sum_j (x_j - z)
void sum_differences(std::span<const float* const> x, const float* z, float* out, int64_t begin, int64_t end);

// The central average model after an iteration (SMA): z + alpha d + mu (z - z_previous), where d is sum_j (x_j - z) ...
void average_models(std::span<const float* const> x, const float* z, const float* z_previous, float* z_next,
                    float alpha, float mu, int64_t begin, int64_t end);
// ... or already summed.
void apply_differences(const float* difference, const float* z, const float* z_previous, float* z_next, float alpha,
                       float mu, int64_t begin, int64_t end);

}  // namespace arbalest
