#include "exec/device.h"
#include "graph/base/error.h"

namespace arbalest {

std::unique_ptr<Device> make_cuda_device(int index) {
  throw Error(ErrorKind::unsupported,
              "cuda:{}: this build has no CUDA; use the CPU, or build where the CUDA Toolkit is installed", index);
}

}  // namespace arbalest
