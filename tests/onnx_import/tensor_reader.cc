#include "onnx_import/tensor_reader.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "onnx_import/data_type.h"
#include "onnx_import/model_builder.h"
#include "tests/temporary_folder.h"

namespace arbalest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::vector<T> values(const HostTensor& t) {
  return {t.as<T>().begin(), t.as<T>().end()};
}

onnx::TensorProto tensor(int32_t type, const Dims& dims) {
  onnx::TensorProto t;
  t.set_name("w");
  t.set_data_type(type);
  for (const int64_t d : dims) t.add_dims(d);
  return t;
}

ModelFile model_in(const std::string& folder) { return {folder + "/model.onnx", "", {}}; }

template <class Proto>
std::string fault(const Proto& t, const ModelFile& model = model_in(".")) {
  try {
    read_tensor(t, model);
    return "";
  } catch (const Error& e) {
    EXPECT_NE(e.kind(), ErrorKind::internal);
    return e.what();
  }
}

// ---- embedded data

template <class T, class Fill>
void expect_typed(int32_t type, Fill fill, const std::vector<T>& expected) {
  onnx::TensorProto typed = tensor(type, {static_cast<int64_t>(expected.size())});
  fill(typed);
  const HostTensor from_field = read_tensor(typed, model_in("."));
  EXPECT_EQ(values<T>(from_field), expected) << onnx_type_name(type);

  onnx::TensorProto raw = tensor(type, {static_cast<int64_t>(expected.size())});
  raw.set_raw_data(from_field.bytes.data(), from_field.bytes.size());
  EXPECT_EQ(read_tensor(raw, model_in(".")), from_field) << onnx_type_name(type);
}

// Which field holds which type: the table at TensorProto in onnx.proto.
TEST(TensorReader, TypedFieldsAndRawDataOfEveryType) {
  using onnx::TensorProto;
  const auto int32s = [](std::vector<int32_t> v) {
    return [v](TensorProto& t) { t.mutable_int32_data()->Assign(v.begin(), v.end()); };
  };
  expect_typed<float>(TensorProto::FLOAT, [](TensorProto& t) { t.add_float_data(1.5f), t.add_float_data(-2); },
                      {1.5f, -2});
  expect_typed<double>(TensorProto::DOUBLE, [](TensorProto& t) { t.add_double_data(1e300); }, {1e300});
  expect_typed<int64_t>(TensorProto::INT64, [](TensorProto& t) { t.add_int64_data(INT64_MIN); }, {INT64_MIN});
  expect_typed<uint64_t>(TensorProto::UINT64, [](TensorProto& t) { t.add_uint64_data(UINT64_MAX); }, {UINT64_MAX});
  expect_typed<uint32_t>(TensorProto::UINT32, [](TensorProto& t) { t.add_uint64_data(UINT32_MAX); }, {UINT32_MAX});
  expect_typed<int32_t>(TensorProto::INT32, int32s({INT32_MIN, 7}), {INT32_MIN, 7});
  expect_typed<int16_t>(TensorProto::INT16, int32s({-32768, 32767}), {-32768, 32767});
  expect_typed<int8_t>(TensorProto::INT8, int32s({-128, 127}), {-128, 127});
  expect_typed<uint16_t>(TensorProto::UINT16, int32s({65535}), {65535});
  expect_typed<uint8_t>(TensorProto::UINT8, int32s({255, 1}), {255, 1});
  expect_typed<bool>(TensorProto::BOOL, int32s({0, 1, 2}), {false, true, true});
  expect_typed<uint16_t>(TensorProto::FLOAT16, int32s({0x3c00}), {0x3c00});
  expect_typed<uint16_t>(TensorProto::BFLOAT16, int32s({0x3f80}), {0x3f80});
}

TEST(TensorReader, AnyByteButZeroIsTrue) {
  onnx::TensorProto t = tensor(onnx::TensorProto::BOOL, {3});
  t.set_raw_data(std::string("\x00\x02\xff", 3));
  EXPECT_THAT(values<bool>(read_tensor(t, model_in("."))), ElementsAre(false, true, true));
}

TEST(TensorReader, EmptyAndScalar) {
  EXPECT_EQ(read_tensor(tensor(1, {2, 0}), model_in(".")).element_count(), 0);
  onnx::TensorProto scalar = tensor(1, {});
  scalar.add_float_data(3);
  EXPECT_EQ(read_tensor(scalar, model_in(".")), HostTensor::f32({}, std::vector<float>{3}));
}

TEST(TensorReader, RefusesWrongData) {
  onnx::TensorProto t = tensor(1, {2});
  EXPECT_THAT(fault(t), HasSubstr("tensor 'w': float_data has 0 values"));
  t.add_float_data(1);
  EXPECT_THAT(fault(t), HasSubstr("float_data has 1 values, but the data of float32 2 are 2"));
  t.set_raw_data(std::string(8, '\0'));
  EXPECT_THAT(fault(t), HasSubstr("data twice"));
  t.clear_float_data();
  t.set_raw_data(std::string(9, '\0'));
  EXPECT_THAT(fault(t), HasSubstr("raw_data has 9 bytes, but float32 2 needs 8"));
  t.set_raw_data(std::string(8, '\0'));
  EXPECT_EQ(fault(t), "");
  t.mutable_segment()->set_begin(0);
  EXPECT_THAT(fault(t), HasSubstr("segment"));
}

TEST(TensorReader, RefusesTypesWithoutTensors) {
  for (const auto& [type, name] :
       std::vector<std::pair<int, std::string>>{{0, "0 (undefined)"}, {8, "string"}, {14, "complex64"}, {99, "99"}}) {
    EXPECT_THAT(fault(tensor(type, {1})), HasSubstr("element type " + name));
  }
}

TEST(TensorReader, RefusesImpossibleShapes) {
  EXPECT_THAT(fault(tensor(1, {2, -3})), HasSubstr("-3 is negative"));
  EXPECT_THAT(fault(tensor(1, {0, -3})), HasSubstr("-3 is negative"));
  EXPECT_THAT(fault(tensor(1, {INT64_MAX, INT64_MAX})), HasSubstr("more elements than memory can hold"));
  EXPECT_THAT(fault(tensor(1, {int64_t{1} << 40})), HasSubstr("0 values"));  // nothing was allocated
  EXPECT_EQ(fault(tensor(1, {int64_t{1} << 40, 0, int64_t{1} << 40})), "");
}

// ---- external data

onnx::TensorProto external(const std::vector<std::pair<std::string, std::string>>& entries, int64_t count = 2) {
  onnx::TensorProto t = tensor(1, {count});
  t.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* entry = t.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return t;
}

class ExternalData : public ::testing::Test {
 protected:
  ExternalData() {
    const float data[] = {1, 2, 3, 4};
    std::filesystem::create_directories(folder_.path() / "m/sub");
    write_file(folder_ / "m/d", std::string(reinterpret_cast<const char*>(data), sizeof(data)));
    write_file(folder_ / "m/sub/d", std::string(reinterpret_cast<const char*>(data), sizeof(data)));
    write_file(folder_ / "outside", std::string(16, 'x'));
    std::filesystem::create_directories(folder_.path() / "model-two");
    write_file(folder_ / "model-two/d", std::string(16, 'x'));
  }
  std::string fault_of(const onnx::TensorProto& t) { return fault(t, model_); }
  std::vector<float> read(const onnx::TensorProto& t) { return values<float>(read_tensor(t, model_)); }

  TemporaryFolder folder_;
  const ModelFile model_ = model_in(folder_ / "m");
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  EXPECT_THAT(read(external({{"location", "d"}})), ElementsAre(1, 2));
  EXPECT_THAT(read(external({{"location", "d"}, {"offset", "8"}, {"length", "8"}})), ElementsAre(3, 4));
  EXPECT_THAT(read(external({{"location", "./sub//d"}, {"offset", "4"}})), ElementsAre(2, 3));
  EXPECT_THAT(read(external({{"location", "d"}, {"checksum", "whatever"}, {"newer", "key"}})), ElementsAre(1, 2));
  EXPECT_THAT(read(external({{"location", "d"}, {"offset", "16"}}, 0)), ElementsAre());
}

TEST_F(ExternalData, ModelPathWithoutFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path() / "m");
  const ModelFile model{"model.onnx", "", {}};
  EXPECT_EQ(fault(external({{"location", "d"}}), model), "");
  EXPECT_THAT(fault(external({{"location", "../outside"}}), model), HasSubstr("'..'"));
  std::filesystem::current_path(before);
}

TEST_F(ExternalData, StaysInsideTheFile) {
  EXPECT_THAT(fault_of(external({{"location", "d"}, {"offset", "12"}})), HasSubstr("runs over the end of file 'd'"));
  EXPECT_THAT(fault_of(external({{"location", "d"}, {"offset", "17"}})), HasSubstr("offset 17 is behind the end"));
  EXPECT_THAT(fault_of(external({{"location", "d"}, {"offset", "18446744073709551615"}})), HasSubstr("behind the end"));
  EXPECT_THAT(fault_of(external({{"location", "d"}, {"length", "12"}})), HasSubstr("length 12"));
  EXPECT_THAT(fault_of(external({{"location", "d"}}, int64_t{1} << 50)), HasSubstr("runs over the end"));
  for (const char* bad : {"-1", "", "0x10", "1e3", "18446744073709551616", " 1", "1 "}) {
    EXPECT_THAT(fault_of(external({{"location", "d"}, {"offset", bad}})), HasSubstr("not a number of bytes")) << bad;
  }
}

TEST_F(ExternalData, StaysInsideTheFolder) {
  EXPECT_THAT(fault_of(external({})), HasSubstr("location is missing"));
  EXPECT_THAT(fault_of(external({{"location", folder_ / "m/d"}})), HasSubstr("absolute path"));
  EXPECT_THAT(fault_of(external({{"location", "../outside"}})), HasSubstr("'..'"));
  EXPECT_THAT(fault_of(external({{"location", "sub/../d"}})), HasSubstr("'..'"));
  EXPECT_THAT(fault_of(external({{"location", std::string("d\0/../../etc/passwd", 19)}})), HasSubstr("zero byte"));
  EXPECT_THAT(fault_of(external({{"location", "absent"}})), HasSubstr("'absent' cannot be opened: No such file"));
}

TEST_F(ExternalData, FollowsOnlyLinksThatStayInside) {
  namespace fs = std::filesystem;
  fs::create_symlink("sub/d", folder_ / "m/inside");
  fs::create_symlink("../outside", folder_ / "m/file_link");
  fs::create_directory_symlink("..", folder_ / "m/folder_link");
  fs::create_symlink("../model-two/d", folder_ / "m/prefix");  // "m" is a prefix of the folder's name
  EXPECT_THAT(read(external({{"location", "inside"}})), ElementsAre(1, 2));
  EXPECT_THAT(fault_of(external({{"location", "file_link"}})), HasSubstr("outside the model's folder"));
  EXPECT_THAT(fault_of(external({{"location", "folder_link/outside"}})), HasSubstr("outside the model's folder"));
  EXPECT_THAT(fault_of(external({{"location", "prefix"}})), HasSubstr("outside the model's folder"));
  // The model's folder itself may be reached through a link.
  fs::create_directory_symlink(folder_ / "m", folder_ / "alias");
  EXPECT_EQ(fault(external({{"location", "d"}}), model_in(folder_ / "alias")), "");
}

TEST_F(ExternalData, ReadsOnlyRegularFiles) {
  ASSERT_EQ(::mkfifo((folder_ / "m/pipe").c_str(), 0600), 0);
  EXPECT_THAT(fault_of(external({{"location", "pipe"}})), HasSubstr("not a regular file"));
  EXPECT_THAT(fault_of(external({{"location", "sub"}})), HasSubstr("not a regular file"));
  EXPECT_THAT(fault_of(external({{"location", "."}})), HasSubstr("external data"));
}

// ---- sparse

onnx::SparseTensorProto sparse(const Dims& dims, const std::vector<float>& data, const Dims& index_dims,
                               const std::vector<int64_t>& indices) {
  onnx::SparseTensorProto s;
  for (const int64_t d : dims) s.add_dims(d);
  *s.mutable_values() = tensor(1, {static_cast<int64_t>(data.size())});
  s.mutable_values()->mutable_float_data()->Assign(data.begin(), data.end());
  *s.mutable_indices() = tensor(onnx::TensorProto::INT64, index_dims);
  s.mutable_indices()->mutable_int64_data()->Assign(indices.begin(), indices.end());
  return s;
}

TEST(SparseTensor, BecomesDense) {
  const HostTensor expected = HostTensor::f32({2, 3}, std::vector<float>{0, 5, 0, 0, 0, 7});
  EXPECT_EQ(read_tensor(sparse({2, 3}, {5, 7}, {2}, {1, 5}), model_in(".")), expected);
  EXPECT_EQ(read_tensor(sparse({2, 3}, {5, 7}, {2, 2}, {0, 1, 1, 2}), model_in(".")), expected);
  EXPECT_EQ(read_tensor(sparse({3}, {}, {0}, {}), model_in(".")), HostTensor(DataType::f32, {3}));
}

TEST(SparseTensor, RefusesWrongIndices) {
  EXPECT_THAT(fault(sparse({2, 3}, {5, 7}, {2}, {1, 6})), HasSubstr("index 6 is outside of [0, 6)"));
  EXPECT_THAT(fault(sparse({2, 3}, {5, 7}, {2}, {-1, 5})), HasSubstr("index -1 is outside"));
  EXPECT_THAT(fault(sparse({2, 3}, {5, 7}, {2, 2}, {0, 3, 1, 0})), HasSubstr("index 3 is outside of [0, 3)"));
  EXPECT_THAT(fault(sparse({2, 3}, {5, 7}, {2}, {5, 1})), HasSubstr("must increase"));
  EXPECT_THAT(fault(sparse({2, 3}, {5, 7}, {3}, {1, 2, 3})), HasSubstr("indices have shape 3"));
  EXPECT_THAT(fault(sparse({int64_t{1} << 40}, {5}, {1}, {1})), HasSubstr("more than 256 MiB"));
}

// ---- Constant

HostTensor constant(const std::string& name, AttributeValue value) {
  ModelBuilder m;
  m.graph.node("Constant", {}, {"c"}, {{name, std::move(value)}});
  const ModelFile model = parse_model_file(m.bytes(), "model.onnx");
  return read_constant(model.proto.graph().node(0), model);
}

TEST(ConstantNode, EveryAttribute) {
  const HostTensor t = HostTensor::f32({2, 1}, std::vector<float>{1, 2});
  EXPECT_EQ(constant("value", t), t);
  EXPECT_EQ(constant("value_float", 1.5), HostTensor::f32({}, std::vector<float>{1.5f}));
  EXPECT_EQ(constant("value_floats", Floats{1, 2, 3}), HostTensor::f32({3}, std::vector<float>{1, 2, 3}));
  EXPECT_EQ(constant("value_int", 7), HostTensor::i64({}, std::vector<int64_t>{7}));
  EXPECT_EQ(constant("value_ints", Ints{7, 8}), HostTensor::i64({2}, std::vector<int64_t>{7, 8}));
  EXPECT_THROW(constant("value_string", "text"), Error);
  EXPECT_THROW(constant("valu", 7), Error);

  onnx::NodeProto node;
  node.set_op_type("Constant");
  node.add_output("c");
  auto* attribute = node.add_attribute();
  attribute->set_name("sparse_value");
  *attribute->mutable_sparse_tensor() = sparse({3}, {5}, {1}, {2});
  EXPECT_EQ(read_constant(node, model_in(".")), HostTensor::f32({3}, std::vector<float>{0, 0, 5}));
  node.clear_attribute();
  EXPECT_THROW(read_constant(node, model_in(".")), Error);
}

}  // namespace
}  // namespace arbalest
