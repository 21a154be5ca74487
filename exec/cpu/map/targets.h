// The instruction sets that the Map kernels are compiled for: AVX2, AVX-512 and the portable baseline. What lies
// between gains little on machines that still exist and costs compile time. Included before Highway.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
