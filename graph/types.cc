#include "graph/types.h"

#include <algorithm>
#include <array>
#include <utility>

#include "graph/base/error.h"

namespace arbalest {

namespace {

struct TypeInfo {
  std::string_view name;
  size_t bytes;
};

constexpr std::array<TypeInfo, 13> kTypes = {{{"float32", 4},
                                              {"float64", 8},
                                              {"float16", 2},
                                              {"bfloat16", 2},
                                              {"int8", 1},
                                              {"int16", 2},
                                              {"int32", 4},
                                              {"int64", 8},
                                              {"uint8", 1},
                                              {"uint16", 2},
                                              {"uint32", 4},
                                              {"uint64", 8},
                                              {"bool", 1}}};

// More elements than any memory holds; sixteen bytes of each still fit an address.
constexpr int64_t kMaxElements = int64_t{1} << 58;

std::string product_text(const std::vector<std::string>& texts) {
  if (texts.empty()) return "scalar";
  std::string text = texts[0];
  for (size_t i = 1; i < texts.size(); ++i) text += " x " + texts[i];
  return text;
}

// "N + 1" is a sum, "floor((N + 1)/2)" is not.
bool is_sum(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ' ' && depth == 0) return true;
  }
  return false;
}

}  // namespace

size_t size_of(DataType t) { return kTypes[static_cast<size_t>(t)].bytes; }

std::string_view name_of(DataType t) { return kTypes[static_cast<size_t>(t)].name; }

bool is_float(DataType t) { return t <= DataType::bf16; }

bool is_integer(DataType t) { return t > DataType::bf16 && t != DataType::boolean; }

int64_t element_count(const Dims& dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t count = 1;
  for (const int64_t d : dims) {
    require(d > 0, "shape {}: a size is negative", to_string(dims));
    require(!__builtin_mul_overflow(count, d, &count) && count <= kMaxElements,
            "shape {}: more elements than memory can hold", to_string(dims));
  }
  return count;
}

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    require(!__builtin_mul_overflow(stride, std::max<int64_t>(dims[i], 1), &stride),
            "shape {}: more elements than memory can hold", to_string(dims));
  }
  return strides;
}

std::string to_string(const Dims& dims) {
  std::vector<std::string> texts;
  for (const int64_t d : dims) texts.push_back(std::to_string(d));
  return product_text(texts);
}

void Shape::refuse(size_t axis) const {
  if (empty()) throw Error(ErrorKind::model, "a scalar, where a tensor with axes is expected");
  throw Error(ErrorKind::model, "shape {} has no axis {}", to_string(*this), axis);
}

bool Shape::is_static() const {
  return std::all_of(begin(), end(), [](const Dim& d) { return d.is_constant(); });
}

Dims Shape::dims() const {
  Dims result;
  for (const Dim& d : *this) result.push_back(d.value());
  return result;
}

Dim Shape::element_count() const {
  Dim count(1);
  for (const Dim& d : *this) count = count * d;
  return count;
}

std::string to_string(const Shape& shape) {
  std::vector<std::string> texts;
  for (const Dim& d : shape) {
    std::string text = to_string(d);
    texts.push_back(is_sum(text) ? fmt::format("({})", text) : std::move(text));
  }
  return product_text(texts);
}

std::string to_string(const TensorType& type) { return std::string(name_of(type.dtype)) + " " + to_string(type.shape); }

Shape broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& d = result[offset + i];
    if (d == Dim(1)) d = shorter[i];
    require(d == shorter[i] || shorter[i] == Dim(1), "shapes {} and {} cannot be broadcast together", to_string(a),
            to_string(b));
  }
  return result;
}

int normalise_axis(int64_t axis, int rank) {
  require(-rank <= axis && axis < rank, "axis {} of a rank-{} tensor", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace arbalest
