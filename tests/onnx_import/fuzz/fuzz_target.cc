// The entry points that libFuzzer calls: cmake -DARBALEST_FUZZ=ON (clang), then
//   build-fuzz/fuzz_model_reader -rss_limit_mb=1024 -timeout=20 -max_len=100000 FINDINGS tests/onnx_import/fuzz/corpus
#include <algorithm>
#include <cstring>

#include "tests/onnx_import/fuzz/model_reader.h"

extern "C" {

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  arbalest::read_as_model(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

// One in sixteen gets a changed byte instead: for the parser.
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  if (seed % 16 == 0 && size > 0) {
    data[seed / 16 % size] = static_cast<uint8_t>(seed >> 20);
    return size;
  }
  const std::string bytes = arbalest::mutated_model(std::string(reinterpret_cast<const char*>(data), size), seed / 16);
  if (bytes.size() > max_size) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // extern "C"
