#include "onnx_import/tensor_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "graph/base/error.h"
#include "onnx_import/data_type.h"
#include "onnx_import/external_data.h"
#include "onnx_import/narrow_type.h"

namespace arbalest {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and copied as it is");

// A few bytes of a sparse tensor may ask for any dense size.
constexpr uint64_t kMaxDenseBytes = uint64_t{256} << 20;

DataType read_type(int32_t onnx_type) {
  if (const auto type = storage_type_of_onnx(onnx_type)) return *type;
  throw Error(ErrorKind::unsupported, "element type {}; only real numbers and bool can be read",
              onnx_type_name(onnx_type));
}

uint64_t byte_size(const Dims& dims, DataType dtype) {
  for (const int64_t d : dims) require(d >= 0, "shape {}: size {} is negative", to_string(dims), d);
  return static_cast<uint64_t>(element_count(dims)) * size_of(dtype);
}

// Any byte but 0 is true in files; ours is 1, as C++ needs it.
void normalise_bools(HostTensor& t) {
  if (t.dtype != DataType::boolean) return;
  for (std::byte& b : t.bytes) b = b == std::byte{0} ? b : std::byte{1};
}

// ---- typed fields

struct TypedField {
  const char* name;
  int size;
};

TypedField typed_field(const onnx::TensorProto& t, DataType dtype) {
  switch (dtype) {
    case DataType::f32:
      return {"float_data", t.float_data_size()};
    case DataType::f64:
      return {"double_data", t.double_data_size()};
    case DataType::i64:
      return {"int64_data", t.int64_data_size()};
    case DataType::u32:
    case DataType::u64:
      return {"uint64_data", t.uint64_data_size()};
    default:
      return {"int32_data", t.int32_data_size()};
  }
}

template <class T, class Field>
void copy_elements(const Field& field, HostTensor& out) {
  std::transform(field.begin(), field.end(), out.as<T>().begin(), [](auto x) { return static_cast<T>(x); });
}

void copy_typed_field(const onnx::TensorProto& t, HostTensor& out) {
  switch (out.dtype) {
    case DataType::f32:
      return copy_elements<float>(t.float_data(), out);
    case DataType::f64:
      return copy_elements<double>(t.double_data(), out);
    case DataType::f16:
    case DataType::bf16:
    case DataType::u16:
      return copy_elements<uint16_t>(t.int32_data(), out);
    case DataType::i8:
      return copy_elements<int8_t>(t.int32_data(), out);
    case DataType::i16:
      return copy_elements<int16_t>(t.int32_data(), out);
    case DataType::i32:
      return copy_elements<int32_t>(t.int32_data(), out);
    case DataType::i64:
      return copy_elements<int64_t>(t.int64_data(), out);
    case DataType::u8:
      return copy_elements<uint8_t>(t.int32_data(), out);
    case DataType::u32:
      return copy_elements<uint32_t>(t.uint64_data(), out);
    case DataType::u64:
      return copy_elements<uint64_t>(t.uint64_data(), out);
    case DataType::boolean:
      return copy_elements<bool>(t.int32_data(), out);
  }
}

// From bytes as raw_data has them; typed fields have one of these bytes an entry.
HostTensor read_narrow(const onnx::TensorProto& t, const NarrowType& type, const TensorHeader& header) {
  std::vector<std::byte> packed;  // no larger than what the file has
  if (t.has_raw_data() && t.int32_data_size() == 0) {
    require(t.raw_data().size() == header.bytes, "raw_data has {} bytes, but {} {} needs {}", t.raw_data().size(),
            type.name, to_string(header.dims), header.bytes);
    packed.resize(header.bytes);
    if (!packed.empty()) std::memcpy(packed.data(), t.raw_data().data(), packed.size());
  } else {
    require(static_cast<uint64_t>(t.int32_data_size()) == header.bytes, "int32_data has {} values, but {} {} needs {}",
            t.int32_data_size(), type.name, to_string(header.dims), header.bytes);
    packed.resize(header.bytes);
    std::transform(t.int32_data().begin(), t.int32_data().end(), packed.begin(),
                   [](int32_t x) { return static_cast<std::byte>(x & 0xff); });
  }
  return unpack(type, header.dims, packed);
}

HostTensor read_embedded(const onnx::TensorProto& t, const TensorHeader& header) {
  const uint64_t count = header.bytes / size_of(header.dtype);
  const TypedField field = typed_field(t, header.dtype);
  require(!t.has_raw_data() || t.raw_data().empty() || field.size == 0, "has data twice, in raw_data and in {}",
          field.name);
  if (t.has_raw_data() && field.size == 0) {
    require(t.raw_data().size() == header.bytes, "raw_data has {} bytes, but {} {} needs {}", t.raw_data().size(),
            name_of(header.dtype), to_string(header.dims), header.bytes);
    HostTensor out(header.dtype, header.dims);
    if (!out.bytes.empty()) std::memcpy(out.bytes.data(), t.raw_data().data(), out.bytes.size());
    normalise_bools(out);
    return out;
  }
  require(static_cast<uint64_t>(field.size) == count, "{} has {} values, but the data of {} {} are {}", field.name,
          field.size, name_of(header.dtype), to_string(header.dims), count);
  HostTensor out(header.dtype, header.dims);
  copy_typed_field(t, out);
  return out;
}

HostTensor read_unnamed(const onnx::TensorProto& t, const ModelFile& model) {
  const TensorHeader header = read_header(t);
  const NarrowType* narrow = narrow_type(t.data_type());
  if (!is_external(t)) return narrow ? read_narrow(t, *narrow, header) : read_embedded(t, header);
  const ExternalRegion region = locate_external_data(t, model, header.bytes);
  if (narrow) {
    AlignedBytes packed(header.bytes);
    read_external_data(region, 0, packed);
    return unpack(*narrow, header.dims, packed);
  }
  HostTensor out(header.dtype, header.dims);
  read_external_data(region, 0, out.bytes);
  normalise_bools(out);
  return out;
}

// ---- sparse

// Row-major positions of the values; indices are positions (one axis) or coordinates (values x axes).
std::vector<int64_t> read_positions(const HostTensor& indices, int64_t value_count, const Dims& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  const bool are_positions = indices.dims == Dims{value_count};
  require((are_positions || indices.dims == Dims{value_count, rank}),
          "sparse: indices have shape {}, expected {} or {} x {}", to_string(indices.dims), value_count, value_count,
          rank);
  const HostTensor wide = indices.to(DataType::i64);
  const std::span<const int64_t> index = wide.as<int64_t>();
  const Dims strides = are_positions ? Dims{1} : row_major_strides(dims);
  const Dims limits = are_positions ? Dims{element_count(dims)} : dims;

  std::vector<int64_t> positions(static_cast<size_t>(value_count), 0);
  for (size_t i = 0; i < positions.size(); ++i) {
    for (size_t axis = 0; axis < limits.size(); ++axis) {
      const int64_t x = index[i * limits.size() + axis];
      require(0 <= x && x < limits[axis], "sparse: index {} is outside of [0, {})", x, limits[axis]);
      positions[i] += x * strides[axis];
    }
    require(i == 0 || positions[i] > positions[i - 1], "sparse: indices must increase; value {} does not", i);
  }
  return positions;
}

HostTensor read_sparse(const onnx::SparseTensorProto& t, const ModelFile& model) {
  const HostTensor values = read_unnamed(t.values(), model);
  require(values.dims.size() == 1, "sparse: values have shape {}, expected one axis", to_string(values.dims));
  const Dims dims(t.dims().begin(), t.dims().end());
  const uint64_t bytes = byte_size(dims, values.dtype);
  if (bytes > kMaxDenseBytes) {
    throw Error(ErrorKind::unsupported, "sparse tensor of shape {}: {} bytes when dense, more than 256 MiB",
                to_string(dims), bytes);
  }
  const std::vector<int64_t> positions = read_positions(read_unnamed(t.indices(), model), values.dims[0], dims);
  HostTensor out(values.dtype, dims);
  const size_t width = size_of(values.dtype);
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(out.bytes.data() + static_cast<size_t>(positions[i]) * width, values.bytes.data() + i * width, width);
  }
  return out;
}

template <class Read>
HostTensor read_named(const std::string& name, Read read) {
  try {
    return read();
  } catch (const Error& e) {
    throw e.within(fmt::format("tensor '{}'", name));
  }
}

HostTensor read_constant_attribute(const onnx::AttributeProto& a, const ModelFile& model) {
  const std::string& name = a.name();
  if (name == "value") return read_unnamed(a.t(), model);
  if (name == "sparse_value") return read_sparse(a.sparse_tensor(), model);
  if (name == "value_float") return HostTensor::f32({}, std::vector<float>{a.f()});
  if (name == "value_int") return HostTensor::i64({}, std::vector<int64_t>{a.i()});
  if (name == "value_floats")
    return HostTensor::f32({a.floats_size()}, {a.floats().data(), static_cast<size_t>(a.floats_size())});
  if (name == "value_ints")
    return HostTensor::i64({a.ints_size()}, {a.ints().data(), static_cast<size_t>(a.ints_size())});
  if (name == "value_string" || name == "value_strings") {
    throw Error(ErrorKind::unsupported, "Constant of strings (attribute '{}')", name);
  }
  throw Error(ErrorKind::model, "Constant with an unknown attribute '{}'", name);
}

}  // namespace

TensorHeader read_header(const onnx::TensorProto& tensor) {
  TensorHeader header{read_type(tensor.data_type()), Dims(tensor.dims().begin(), tensor.dims().end()), 0};
  header.bytes = byte_size(header.dims, header.dtype);
  if (const NarrowType* narrow = narrow_type(tensor.data_type()))
    header.bytes = packed_bytes(*narrow, element_count(header.dims));
  if (tensor.has_segment())
    throw Error(ErrorKind::unsupported, "a segment of a tensor; save the model with whole tensors");
  return header;
}

HostTensor read_tensor(const onnx::TensorProto& tensor, const ModelFile& model) {
  return read_named(tensor.name(), [&] { return read_unnamed(tensor, model); });
}

HostTensor read_tensor(const onnx::SparseTensorProto& tensor, const ModelFile& model) {
  return read_named(tensor.values().name(), [&] { return read_sparse(tensor, model); });
}

HostTensor read_constant(const onnx::NodeProto& node, const ModelFile& model) {
  return read_named(node.output_size() > 0 ? node.output(0) : node.name(), [&] {
    require(node.attribute_size() == 1, "Constant has {} attributes, expected exactly one", node.attribute_size());
    return read_constant_attribute(node.attribute(0), model);
  });
}

}  // namespace arbalest
