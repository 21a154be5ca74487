// The kernels of a backend, as the plan uses them.
#pragma once

#include "exec/prepare.h"

namespace arbalest {

struct KernelSet {
  std::function<Prepared(const Primitive&, PrepareContext&)> prepare;
  // Any layout to any layout of the same dims; one input, one output.
  std::function<Prepared(const Layout& from, const Layout& to, DataType type, int threads)> reorder;
};

namespace cpu {
const KernelSet& kernel_set();
}  // namespace cpu

}  // namespace arbalest
