#include "onnx_import/tensor_patch.h"

#include <optional>

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/message.h"
#include "onnx_import/tensor_reader.h"
#include "onnx_import/wire.h"

namespace arbalest {
namespace {

template <class Visit>
void for_each_field(std::string_view message, Visit visit) {
  wire::Field f;
  wire::Reader reader(message);
  while (reader.next(f)) visit(f);
  ensure(reader.fault() == wire::Fault::none, "a message that was parsed before cannot be read again");
}

bool is_data(uint32_t number) {
  return number == field::kTensorFloatData || number == field::kTensorInt32Data || number == field::kTensorInt64Data ||
         number == field::kTensorRawData || number == field::kTensorDoubleData || number == field::kTensorUint64Data;
}

// ---- typed fields: let protobuf serialise a tensor that has nothing but the data

template <class T, class Field>
void fill(Field* field, const HostTensor& value) {
  const std::span<const T> elements = value.as<T>();
  field->Assign(elements.begin(), elements.end());
}

std::string encoded_typed_field(const HostTensor& value) {
  onnx::TensorProto t;
  switch (value.dtype) {
    case DataType::f32:
      fill<float>(t.mutable_float_data(), value);
      break;
    case DataType::f64:
      fill<double>(t.mutable_double_data(), value);
      break;
    case DataType::f16:
    case DataType::bf16:
    case DataType::u16:
      fill<uint16_t>(t.mutable_int32_data(), value);
      break;
    case DataType::i8:
      fill<int8_t>(t.mutable_int32_data(), value);
      break;
    case DataType::i16:
      fill<int16_t>(t.mutable_int32_data(), value);
      break;
    case DataType::i32:
      fill<int32_t>(t.mutable_int32_data(), value);
      break;
    case DataType::i64:
      fill<int64_t>(t.mutable_int64_data(), value);
      break;
    case DataType::u8:
      fill<uint8_t>(t.mutable_int32_data(), value);
      break;
    case DataType::u32:
      fill<uint32_t>(t.mutable_uint64_data(), value);
      break;
    case DataType::u64:
      fill<uint64_t>(t.mutable_uint64_data(), value);
      break;
    case DataType::boolean:
      fill<bool>(t.mutable_int32_data(), value);
      break;
  }
  return t.SerializeAsString();
}

std::string_view bytes_of(const HostTensor& value) {
  return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
}

void add_data(const HostTensor& value, bool raw, Pieces& out) {
  if (!raw) return out.own(encoded_typed_field(value));
  std::string header;
  wire::append_varint(header, (field::kTensorRawData << 3) | static_cast<uint32_t>(wire::Type::bytes));
  wire::append_varint(header, value.bytes.size());
  out.own(std::move(header));
  out.view(bytes_of(value));
}

// ---- external entries

std::string entry(std::string_view key, std::string_view value) {
  std::string message;
  wire::append_field(message, field::kEntryKey, key);
  wire::append_field(message, field::kEntryValue, value);
  std::string result;
  wire::append_field(result, field::kTensorExternalData, message);
  return result;
}

void add_entry(const wire::Field& old, std::string_view key, std::string_view new_value, Pieces& out) {
  if (wire::find_bytes(old.value, field::kEntryValue) == new_value) {
    out.view(old.whole);
  } else {
    out.own(entry(key, new_value));
  }
}

// ---- lists of floats

// `packed` as the old field was: both forms are valid, and readers older than packed fields exist.
std::string float_list(const HostTensor& value, uint32_t number, bool packed) {
  std::string result;
  if (packed) {
    wire::append_field(result, number, bytes_of(value));
  } else {
    for (const float x : value.as<float>()) wire::append_field(result, number, x);
  }
  return result;
}

Pieces patch_float(std::string_view message, const HostTensor& value) {
  require_same_shape({}, value);
  std::string number;
  wire::append_field(number, field::kAttributeFloat, value.as<float>()[0]);
  Pieces out;
  bool done = false;
  for_each_field(message, [&](const wire::Field& f) {
    if (f.number != field::kAttributeFloat) return out.view(f.whole);
    if (!done) out.own(number);
    done = true;
  });
  if (!done) out.own(number);  // a writer may leave out a zero
  return out;
}

Pieces patch_floats(std::string_view message, const onnx::AttributeProto& old, const HostTensor& value) {
  require_same_shape({old.floats_size()}, value);
  Pieces out;
  bool done = false;
  for_each_field(message, [&](const wire::Field& f) {
    if (f.number != field::kAttributeFloats) return out.view(f.whole);
    if (!done) out.own(float_list(value, field::kAttributeFloats, f.type == wire::Type::bytes));
    done = true;
  });
  return out;
}

Pieces patch_sparse(std::string_view message, const onnx::AttributeProto& old, const HostTensor& value) {
  const onnx::SparseTensorProto& sparse = old.sparse_tensor();
  require_same_shape(Dims(sparse.dims().begin(), sparse.dims().end()), value);
  const std::string dense = dense_tensor(sparse, value.to(read_header(sparse.values()).dtype));
  Pieces out;
  for_each_field(message, [&](const wire::Field& f) {
    std::string replacement;
    if (f.number == field::kAttributeName) {
      wire::append_field(replacement, f.number, "value");
    } else if (f.number == field::kAttributeType) {
      replacement.append(f.tag);
      wire::append_varint(replacement, onnx::AttributeProto::TENSOR);
    } else if (f.number == field::kAttributeSparse) {
      wire::append_field(replacement, field::kAttributeTensor, dense);
    } else {
      return out.view(f.whole);
    }
    out.own(std::move(replacement));
  });
  return out;
}

}  // namespace

void require_same_shape(const Dims& old, const HostTensor& value) {
  ensure(old == value.dims, "new value of shape {} for a tensor of shape {}", to_string(value.dims), to_string(old));
}

Pieces patch_tensor(std::string_view message, const HostTensor& value) {
  const auto old_raw_data = wire::find_bytes(message, field::kTensorRawData);
  const bool raw = old_raw_data && old_raw_data->size() == value.bytes.size();
  Pieces out;
  bool done = false;
  for_each_field(message, [&](const wire::Field& f) {
    if (!is_data(f.number)) return out.view(f.whole);
    if (!done) add_data(value, raw, out);
    done = true;
  });
  return out;
}

Pieces patch_external(std::string_view message, const ExternalPlace& place) {
  const std::string offset = std::to_string(place.offset);
  const std::string length = std::to_string(place.length);
  bool has_offset = false;
  bool has_length = false;
  Pieces out;
  for_each_field(message, [&](const wire::Field& f) {
    if (f.number != field::kTensorExternalData) return out.view(f.whole);
    const std::string_view key = wire::find_bytes(f.value, field::kEntryKey).value_or("");
    has_offset |= key == "offset";
    has_length |= key == "length";
    if (key == "location") return add_entry(f, key, place.location, out);
    if (key == "offset") return add_entry(f, key, offset, out);
    if (key == "length") return add_entry(f, key, length, out);
    if (key != "checksum") out.view(f.whole);
  });
  if (!has_offset && place.offset != 0) out.own(entry("offset", offset));
  if (!has_length && place.shared) out.own(entry("length", length));
  return out;
}

Pieces patch_constant(std::string_view message, const onnx::AttributeProto& old, const HostTensor& value) {
  if (old.name() == "value_float") return patch_float(message, value.to_f32());
  if (old.name() == "value_floats") return patch_floats(message, old, value.to_f32());
  ensure(old.name() == "sparse_value", "new value for the Constant attribute '{}'", old.name());
  return patch_sparse(message, old, value);
}

std::string dense_tensor(const onnx::SparseTensorProto& old, const HostTensor& value) {
  onnx::TensorProto dense;
  for (const int64_t d : old.dims()) dense.add_dims(d);
  dense.set_data_type(old.values().data_type());
  dense.set_name(old.values().name());
  if (old.values().has_doc_string()) dense.set_doc_string(old.values().doc_string());
  dense.set_raw_data(value.bytes.data(), value.bytes.size());
  return dense.SerializeAsString();
}

}  // namespace arbalest
