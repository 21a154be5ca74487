#include "onnx_import/constant_tables.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

namespace arbalest {
namespace {

constexpr double kRounding = 1e-4;  // of values, stored as floats of angles up to some thousands

// The elements as doubles, read in place: tensors may be large.
class Numbers {
 public:
  explicit Numbers(const HostTensor& t) : t_(t), is_f32_(t.dtype == DataType::f32) {}
  size_t size() const { return is_f32_ ? t_.as<float>().size() : t_.as<double>().size(); }
  double operator[](size_t i) const { return is_f32_ ? static_cast<double>(t_.as<float>()[i]) : t_.as<double>()[i]; }
  double back() const { return (*this)[size() - 1]; }
  template <class F>
  bool all(const F& f) const {
    for (size_t i = 0; i < size(); ++i)
      if (!f((*this)[i])) return false;
    return true;
  }

 private:
  const HostTensor& t_;
  const bool is_f32_;
};

Dims without_ones(Dims dims) {
  dims.erase(std::remove(dims.begin(), dims.end(), 1), dims.end());
  return dims;
}

enum class Column : uint8_t { no_sine, sine, too_slow };  // too slow: hardly changes, so that it may be one

// x[t + 1] + x[t - 1] = 2 cos(f) x[t] for a sine of frequency f; its amplitude follows from x[t] and x[t + 1] - x[t -
// 1].
Column kind_of_column(const Numbers& x, int64_t column, int64_t columns, int64_t count) {
  const auto at = [&](int64_t t) { return x[static_cast<size_t>(t * columns + column)]; };
  double numerator = 0, denominator = 0;
  for (int64_t t = 1; t + 1 < count; ++t) {
    numerator += (at(t + 1) + at(t - 1)) * at(t);
    denominator += at(t) * at(t);
  }
  const double c = denominator > 0 ? std::clamp(numerator / denominator, -2.0, 2.0) : 2;
  const double sine = std::sqrt(1 - c * c / 4);
  constexpr double kSlow = 0.02;
  for (int64_t t = 0; t < count; ++t) {
    if (!(std::abs(at(t)) <= 1 + kRounding)) return Column::no_sine;
    if (t == 0 || t + 1 == count) continue;
    if (std::abs(at(t + 1) + at(t - 1) - c * at(t)) > kRounding) return Column::no_sine;
    const double across = (at(t + 1) - at(t - 1)) / (2 * std::max(sine, kSlow));
    if (sine > kSlow && std::abs(at(t) * at(t) + across * across - 1) > 0.02) return Column::no_sine;
  }
  return sine > kSlow ? Column::sine : Column::too_slow;
}

// Operators that keep an angle one: they move it or multiply it by positions.
constexpr std::string_view kOfAngles[] = {"Mul",     "MatMul",  "Einsum",    "Gemm",   "Concat",  "Cast",
                                          "Reshape", "Squeeze", "Unsqueeze", "Expand", "Flatten", "Identity",
                                          "Slice",   "Gather",  "Transpose", "Tile"};

bool is_sine(const onnx::NodeProto& node) { return node.op_type() == "Sin" || node.op_type() == "Cos"; }

}  // namespace

bool is_sinusoidal_table(const HostTensor& t) {
  const Dims dims = without_ones(t.dims);
  if (dims.size() != 2 || dims[0] < 4) return false;
  const Numbers x(t);
  bool any = false;
  for (int64_t column = 0; column < dims[1]; ++column) {
    const Column kind = kind_of_column(x, column, dims[1], dims[0]);
    if (kind == Column::no_sine) return false;
    any = any || kind == Column::sine;
  }
  return any;
}

bool are_frequencies(const HostTensor& t) {
  if (without_ones(t.dims).size() != 1) return false;
  const Numbers x(t);
  if (!(x[0] > 0 && x.back() > 0) || x[0] == x.back()) return false;
  const double ratio = x[1] / x[0];
  bool descends = x[0] <= 1, geometric = x.size() > 2;
  for (size_t i = 1; i < x.size(); ++i) {
    descends = descends && x[i] <= x[i - 1];
    geometric = geometric && std::abs(x[i] / x[i - 1] / ratio - 1) < kRounding;
  }
  return descends || geometric;
}

bool is_mask(const HostTensor& t) {
  constexpr double kHuge = 1e30, kFar = 100;  // subtracted from a score
  const Numbers x(t);
  if (!x.all([](double v) { return std::abs(v) < kHuge; })) return true;
  double other = 0;
  bool any_zero = false;
  const bool two_valued = x.all([&](double v) {
    any_zero = any_zero || v == 0;
    if (v != 0 && other == 0) other = v;
    return v == 0 || v == other;
  });
  return two_valued && any_zero && std::abs(other) >= kFar;
}

bool is_zeros_and_ones(const HostTensor& t) {
  if (without_ones(t.dims).size() < 2) return false;
  return Numbers(t).all([](double v) { return v == 0 || v == 1; }) && !is_uniform(t);
}

bool is_uniform(const HostTensor& t) {
  const size_t width = size_of(t.dtype);
  return t.bytes.size() <= width || std::memcmp(t.bytes.data(), t.bytes.data() + width, t.bytes.size() - width) == 0;
}

Angles::Angles(const FlatGraph& graph) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const FlatNode& n) { return is_sine(*n.proto); })) return;
  std::unordered_set<std::string> others;  // read as something else
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const auto& outputs = node->proto->output();
    const bool passes =
        std::find(std::begin(kOfAngles), std::end(kOfAngles), node->proto->op_type()) != std::end(kOfAngles) &&
        std::all_of(outputs.begin(), outputs.end(), [&](const std::string& name) { return names_.count(name) > 0; });
    const bool is_angle = is_sine(*node->proto) || passes;
    for (const std::string& name : names_read(*node->proto)) {
      if (!is_angle) {
        others.insert(name);
        names_.erase(name);
      } else if (!others.count(name)) {
        names_.insert(name);
      }
    }
  }
}

bool Angles::holds(const FlatNode& node) const {
  const auto& outputs = node.proto->output();
  return is_sine(*node.proto) ||
         std::all_of(outputs.begin(), outputs.end(), [&](const std::string& name) { return names_.count(name) > 0; });
}

}  // namespace arbalest
