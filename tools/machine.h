// The machine under us, for reports.
#pragma once

#include <cstddef>
#include <string>

namespace arbalest::tools {

int core_count();  // that this process may use
// Bytes that this process can still take: of the machine, or of the control group that it runs in.
size_t available_memory();
std::string machine_text();  // "2 cores, AVX2"
// GFLOP/s of a large f32 matrix product, one a thread on `threads` threads: what kernels are compared with.
double measured_peak_gflops(int threads);

}  // namespace arbalest::tools
