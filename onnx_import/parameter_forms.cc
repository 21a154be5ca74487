#include "onnx_import/parameter_forms.h"

#include <cstring>

#include "graph/base/error.h"
#include "onnx_import/equal_elements.h"

namespace arbalest {
namespace {

const HostTensor* trained_tensor(const std::vector<ModelTensor>& tensors, const std::vector<ParameterReport>& reports,
                                 const std::string& name) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name && reports[i].trains) return tensors[i].value.get();
  throw Error(ErrorKind::usage, "'{}' is no tensor that trains; inspect lists them", name);
}

HostTensor transposed(const HostTensor& matrix) {
  HostTensor result(matrix.dtype, {matrix.dims[1], matrix.dims[0]});
  const size_t rows = static_cast<size_t>(matrix.dims[0]), columns = static_cast<size_t>(matrix.dims[1]),
               size = size_of(matrix.dtype);
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c)
      std::memcpy(&result.bytes[(c * rows + r) * size], &matrix.bytes[(r * columns + c) * size], size);
  return result;
}

// Of equal or of transposed shapes; where both hold, the values decide.
bool is_transposed(const HostTensor& original, const HostTensor& copy, const std::string& names) {
  if (original.dims == copy.dims)
    return original.dims.size() == 2 && !(original == copy) && transposed(original) == copy;
  const bool fits = original.dims.size() == 2 && copy.dims.size() == 2 && original.dims[0] == copy.dims[1] &&
                    original.dims[1] == copy.dims[0];
  if (!fits)
    throw Error(ErrorKind::usage, "--tie {}: shapes {} and {} are neither equal nor transposed", names,
                to_string(original.dims), to_string(copy.dims));
  return true;
}

Value masked(Builder& builder, const Value& parameter, const GivenForms::Mask& mask) {
  const Value trains = builder.constant(std::make_shared<const HostTensor>(mask.trains->to(DataType::boolean)));
  return map([](Scalar m, Scalar p, Scalar i) { return select(m, p, i); }, trains, parameter,
             builder.constant(mask.initial));
}

// A sum over the elements that does not depend on their order.
uint64_t fingerprint(const HostTensor& tensor) {
  uint64_t sum = 0;
  const size_t size = size_of(tensor.dtype);
  for (size_t at = 0; at < tensor.bytes.size(); at += size) {
    uint64_t bits = 0;
    std::memcpy(&bits, &tensor.bytes[at], size);
    bits *= 0x9E3779B97F4A7C15u;
    sum += (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9u;
  }
  return sum;
}

}  // namespace

Values add_parameters(Builder& builder, const std::vector<ModelTensor>& tensors,
                      const std::vector<ParameterReport>& reports, const ParameterForms& wanted, GivenForms& given) {
  std::map<std::string, bool> follows;
  for (const auto& [original, copy] : wanted.ties) {
    const HostTensor *first = trained_tensor(tensors, reports, original),
                     *second = trained_tensor(tensors, reports, copy);
    if (original == copy || follows.count(original) || !follows.emplace(copy, true).second)
      throw Error(ErrorKind::usage, "--tie {}={}: one of them follows another tensor already", original, copy);
    given.ties.push_back({original, copy, is_transposed(*first, *second, original + "=" + copy)});
  }
  for (const auto& [name, mask] : wanted.masks) {
    const HostTensor* tensor = trained_tensor(tensors, reports, name);
    if (mask->dims != tensor->dims)
      throw Error(ErrorKind::usage, "the mask of '{}' has shape {}, the tensor {}", name, to_string(mask->dims),
                  to_string(tensor->dims));
    given.masks.push_back({name, mask, std::make_shared<const HostTensor>(tensor->to_f32())});
  }

  Values values(tensors.size());
  std::map<std::string, Value> by_name;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ModelTensor& t = tensors[i];
    if (!t.value || !reports[i].trains || follows.count(t.name)) continue;
    const bool as_it_is = t.value->dtype == DataType::f32 || (wanted.float64 && t.value->dtype == DataType::f64);
    const auto initial = as_it_is ? t.value : std::make_shared<const HostTensor>(t.value->to_f32());
    Value value = builder.add_input(t.name, InputRole::parameter, {initial->dtype, Shape(initial->dims)}, initial);
    for (const GivenForms::Mask& mask : given.masks)
      if (mask.name == t.name) value = masked(builder, value, mask);
    values[i] = t.value->dtype == DataType::f64 && !as_it_is ? cast(value, DataType::f64) : value;
    by_name[t.name] = values[i];
  }
  for (const GivenForms::Tie& tie : given.ties) {
    const Value& original = by_name.at(tie.original);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i].name == tie.copy) values[i] = tie.transposed ? transpose(original, {1, 0}) : original;
  }
  return values;
}

void complete(const GivenForms& forms, std::map<std::string, HostTensor>& trained) {
  for (const GivenForms::Mask& mask : forms.masks) {
    const auto found = trained.find(mask.name);
    if (found == trained.end()) continue;
    const HostTensor trains = mask.trains->to(DataType::boolean);
    HostTensor value = found->second.to_f32();
    for (size_t i = 0; i < value.as<float>().size(); ++i)
      if (!trains.as<bool>()[i]) value.as<float>()[i] = mask.initial->as<float>()[i];
    found->second = std::move(value);
  }
  for (const GivenForms::Tie& tie : forms.ties) {
    const auto found = trained.find(tie.original);
    if (found != trained.end()) trained[tie.copy] = tie.transposed ? transposed(found->second) : found->second;
  }
}

std::vector<std::string> find_equal_matrices(const std::vector<ModelTensor>& tensors,
                                             const std::vector<ParameterReport>& reports) {
  std::vector<std::string> notices;
  std::map<uint64_t, std::vector<const ModelTensor*>> seen;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ModelTensor& t = tensors[i];
    if (!reports[i].trains || t.value->dims.size() != 2 || has_equal_elements(*t.value)) continue;
    std::vector<const ModelTensor*>& alike = seen[fingerprint(*t.value)];
    for (const ModelTensor* other : alike) {
      const bool same = *other->value == *t.value;
      if (!same && (other->value->dtype != t.value->dtype || !(transposed(*other->value) == *t.value))) continue;
      notices.push_back(
          fmt::format("'{}' and '{}' start with the same values{}, and train apart as the file has them; "
                      "--tie '{}={}' trains them as one",
                      other->name, t.name, same ? "" : ", transposed", other->name, t.name));
      break;
    }
    alike.push_back(&t);
  }
  return notices;
}

}  // namespace arbalest
