// What runs work: a CPU or a GPU. Its streams work side by side, its events order them.
//
// Streams and events must not outlive their device. Only events of the stream's own device, or of another CPU device,
// may be waited for.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exec/event.h"
#include "exec/stream.h"

namespace arbalest {

struct StreamOptions {
  std::string name = "stream";
  // CPU only.
  int threads = 1;           // of the OpenMP team of work that runs on this stream
  std::vector<int> cores{};  // to run on; empty: any
};

// Memory of a device, zero at first, aligned to 64 bytes; freed with its owner.
using DeviceMemory = std::unique_ptr<std::byte[], std::function<void(std::byte*)>>;

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "cpu", "cuda:0"
  virtual std::unique_ptr<Stream> make_stream(const StreamOptions& options) = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  virtual DeviceMemory allocate(size_t bytes) = 0;  // device error when there is not enough
};

std::unique_ptr<Device> make_cpu_device();
// The index-th GPU; unsupported error in a build without CUDA.
std::unique_ptr<Device> make_cuda_device(int index);

}  // namespace arbalest
