// The machine under us, for reports.
#pragma once

#include <string>

namespace arbalest::tools {

int core_count();            // that this process may use
std::string machine_text();  // "2 cores, AVX2"
// GFLOP/s of a large f32 matrix product, one a thread on `threads` threads: what kernels are compared with.
double measured_peak_gflops(int threads);

}  // namespace arbalest::tools
