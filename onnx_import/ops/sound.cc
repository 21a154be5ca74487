// Features of sound.
#include <cmath>

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

constexpr int64_t kMaxTableElements = 1 << 26;

void require_table(int64_t rows, int64_t columns) {
  require(rows >= 1 && columns >= 1 && rows <= kMaxTableElements / columns,
          "a table of {} x {}; expected positive sizes and at most {} elements", rows, columns, kMaxTableElements);
}

double mel(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

double one_number(OpContext& op, int input) {
  const auto number = op.constant_number(input);
  if (!number) throw Error(ErrorKind::unsupported, "input {} is computed from the data", input);
  return *number;
}

// MelWeightMatrix-17: triangles over the bins of a spectrum, their corners evenly spaced in mel
Values mel_weight_matrix(OpContext& op) {
  const int64_t bands = op.constant_integer(0), length = op.constant_integer(1), rate = op.constant_integer(2);
  const double lowest = mel(one_number(op, 3)), highest = mel(one_number(op, 4));
  const auto onnx_type = static_cast<int32_t>(op.attribute("output_datatype", 1));
  const auto type = data_type_of_onnx(onnx_type);
  if (!type) throw Error(ErrorKind::unsupported, "attribute 'output_datatype': type {}", onnx_type_name(onnx_type));
  require(length >= 0 && rate >= 1, "a spectrum of length {} at {} samples a second", length, rate);
  const int64_t rows = length / 2 + 1;
  require_table(rows, bands);
  const double step = (highest - lowest) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double at = hertz(static_cast<double>(i) * step + lowest);
    const double edge = std::floor(static_cast<double>(length + 1) * at / static_cast<double>(rate));
    require(0 <= edge && edge < static_cast<double>(rows), "band edge {} lies outside of the spectrum of {} bins", edge,
            rows);
    edges.push_back(static_cast<int64_t>(edge));
  }
  HostTensor table(DataType::f64, {rows, bands});
  const auto at = [&](int64_t row, int64_t band) -> double& {
    return table.as<double>()[static_cast<size_t>(row * bands + band)];
  };
  for (int64_t b = 0; b < bands; ++b) {
    const int64_t left = edges[static_cast<size_t>(b)], centre = edges[static_cast<size_t>(b) + 1],
                  right = edges[static_cast<size_t>(b) + 2];
    if (left == centre) at(centre, b) = 1;
    for (int64_t row = left; row <= centre && left < centre; ++row)
      at(row, b) = static_cast<double>(row - left) / static_cast<double>(centre - left);
    for (int64_t row = centre; row < right; ++row)
      at(row, b) = static_cast<double>(right - row) / static_cast<double>(right - centre);
  }
  const bool half = *type == DataType::f16 || *type == DataType::bf16;
  return {op.builder().constant(std::make_shared<const HostTensor>(table.to(half ? DataType::f32 : *type)))};
}

}  // namespace

void register_sound(Translator& t);
void register_sound(Translator& t) { t.add("MelWeightMatrix", {17}, mel_weight_matrix); }

}  // namespace arbalest
