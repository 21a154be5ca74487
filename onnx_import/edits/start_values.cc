#include "onnx_import/edits/start_values.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace arbalest {
namespace {

constexpr float kSlope = 0.25f;  // of PRelu, as PyTorch has it

// SplitMix64: a number in [-1, 1) that follows from its arguments.
double random_number(uint64_t seed, uint64_t index) {
  uint64_t z = seed + index * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

uint64_t hash_of(const std::string& name, uint64_t seed) {
  uint64_t h = 0xCBF29CE484222325u ^ seed;
  for (const char c : name) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return h;
}

bool is_set(const onnx::NodeProto& node, const std::string& attribute) {
  const auto* a = find_attribute(node, attribute);
  return a && a->i() != 0;
}

// How many inputs an output sums over, and how many outputs an input goes to.
struct Fans {
  int64_t in, out;
};

Fans product_fans(const ReaderPlace& place, const Dims& dims) {
  const int64_t rows = dims[dims.size() - 2], columns = dims.back();
  const bool is_second = place.input == 1;
  const bool is_transposed = is_set(*place.node, is_second ? "transB" : "transA");
  return is_second != is_transposed ? Fans{rows, columns} : Fans{columns, rows};
}

Fans fans_of(const ReaderPlace& place, const Dims& dims) {
  const std::string& op = place.node->op_type();
  if (dims.size() < 2) return dims.empty() ? Fans{1, 1} : Fans{dims[0], dims[0]};
  const int64_t kernel = element_count(Dims(dims.begin() + 2, dims.end()));
  if (op == "ConvTranspose") return {dims[0] * kernel, dims[1] * kernel};
  if (op.ends_with("Conv")) return {dims[1] * kernel, dims[0] * kernel};
  if (op.ends_with("Gemm") || op.ends_with("MatMul")) return product_fans(place, dims);
  if (op == "Gather") return {dims.back(), dims.back()};
  const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  return {dims.back(), std::max<int64_t>(dims[dims.size() - 2] / gates, 1)};
}

double bound_of(const Fans& fans, StartRule rule) {
  const double in = static_cast<double>(std::max<int64_t>(fans.in, 1)),
               out = static_cast<double>(std::max<int64_t>(fans.out, 1));
  switch (rule) {
    case StartRule::kaiming:
      return std::sqrt(6 / in);
    case StartRule::xavier:
      return std::sqrt(6 / (in + out));
    case StartRule::layer:
      break;
  }
  return 1 / std::sqrt(in);
}

bool is_vector(const Dims& dims) {
  return std::count_if(dims.begin(), dims.end(), [](int64_t d) { return d != 1; }) <= 1;
}

// What all elements begin with; none for a weight.
std::optional<float> constant_start(const TensorPlace& at) {
  const std::string& op = at.reader.node->op_type();
  switch (at.use) {
    case TensorUse::norm_scale:
      return 1.0f;
    case TensorUse::norm_bias:
    case TensorUse::bias:
      return 0.0f;
    case TensorUse::running_statistic:
      return at.reader.input == 4 ? 1.0f : 0.0f;
    case TensorUse::weight:
    case TensorUse::embedding:
      if (op == "PRelu") return kSlope;
      if ((op == "Mul" || op == "Div") && is_vector(at.dims)) return 1.0f;
      if (op == "Sub" && is_vector(at.dims)) return 0.0f;
      return std::nullopt;
    default:
      if (op.ends_with("Normalization")) return at.reader.input == 1 ? 1.0f : 0.0f;
      if (op == "Add" || op == "Sum" || at.reader.input == 2) return 0.0f;
      return std::nullopt;
  }
}

}  // namespace

std::vector<float> uniform_values(int64_t count, double bound, const std::string& name, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  const uint64_t first = hash_of(name, seed);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(bound * random_number(first, i + 1));
  return values;
}

std::vector<float> start_values(const TensorPlace& at, const std::string& name, StartRule rule, uint64_t seed) {
  const int64_t count = element_count(at.dims);
  if (const auto same = constant_start(at)) return std::vector<float>(static_cast<size_t>(count), *same);
  return uniform_values(count, bound_of(fans_of(at.reader, at.dims), rule), name, seed);
}

}  // namespace arbalest
