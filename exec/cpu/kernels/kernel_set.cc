#include "exec/kernel_set.h"

#include "exec/cpu/kernels/kernels.h"

namespace arbalest::cpu {
namespace {

// Constants are data of the plan and never reach prepare.
template <class P>
constexpr bool is_data = std::is_same_v<P, Constant> || std::is_same_v<P, ShapeTensor>;

}  // namespace

const KernelSet& kernel_set() {
  static const KernelSet set{[](const Primitive& primitive, PrepareContext& context) {
                               return std::visit(
                                   [&]<class P>(const P& p) -> Prepared {
                                     if constexpr (is_data<P>) {
                                       throw Error(ErrorKind::internal, "{} is not a step", P::kName);
                                     } else {
                                       return prepare(p, context);
                                     }
                                   },
                                   primitive);
                             },
                             prepare_reorder};
  return set;
}

}  // namespace arbalest::cpu
