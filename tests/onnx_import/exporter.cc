#include "onnx_import/exporter.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "onnx_import/model_builder.h"
#include "onnx_import/tensor_reader.h"
#include "tests/onnx_import/fixtures.h"
#include "tests/temporary_folder.h"

namespace arbalest {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using TensorsByName = std::map<std::string, HostTensor>;

HostTensor plus_one(HostTensor t) {
  t = t.to_f32();
  for (float& x : t.as<float>()) x += 1;
  return t;
}

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files;
  for (const auto& folder : fs::directory_iterator(kData / "golden")) {
    for (const char* name : {"model.onnx", "expected.onnx"}) {
      if (folder.is_directory()) files.push_back(folder.path() / name);
    }
  }
  return files;
}

TensorsByName float_initializers(const ModelFile& model) {
  TensorsByName values;
  for (const auto& t : model.proto.graph().initializer()) {
    const HostTensor value = read_tensor(t, model);
    if (is_float(value.dtype)) values[t.name()] = value;
  }
  return values;
}

// The bytes of the exported model.
std::string exported(const ModelFile& model, const TensorsByName& values) {
  const TemporaryFolder folder;
  export_model(model, values, folder / "out.onnx");
  EXPECT_THAT(names_in(folder), ElementsAre("out.onnx"));
  return read_file(folder / "out.onnx");
}

ModelFile in_memory(const onnx::ModelProto& proto) { return parse_model_file(proto.SerializeAsString(), "in.onnx"); }

onnx::ModelProto empty_model() {
  onnx::ModelProto m;
  m.set_ir_version(8);
  m.add_opset_import()->set_version(17);
  m.mutable_graph()->set_name("g");
  return m;
}

onnx::TensorProto* add_initializer(onnx::ModelProto& m, const std::string& name, int32_t type, const Dims& dims) {
  onnx::TensorProto* t = m.mutable_graph()->add_initializer();
  t->set_name(name);
  t->set_data_type(type);
  for (const int64_t d : dims) t->add_dims(d);
  return t;
}

// ---- whole models

TEST(Exporter, NothingTrainedIsTheSameFile) {
  for (const fs::path& path : golden_files()) {
    const ModelFile model = read_model_file(path);
    EXPECT_EQ(exported(model, {}), model.bytes) << path;
  }
}

TEST(Exporter, SameValuesGiveTheSameFile) {
  for (const fs::path& path : golden_files()) {
    const ModelFile model = read_model_file(path);
    EXPECT_EQ(exported(model, float_initializers(model)), model.bytes) << path;
  }
}

// All fields, unknown ones included, but the data of the changed tensors.
TEST(Exporter, OtherValuesChangeNothingElse) {
  size_t changed = 0;
  for (const fs::path& path : golden_files()) {
    const ModelFile model = read_model_file(path);
    TensorsByName values = float_initializers(model);
    for (auto& [name, value] : values) value = plus_one(value);
    changed += values.size();
    const ModelFile result = parse_model_file(exported(model, values), "out.onnx");

    for (auto& [name, value] : float_initializers(result)) EXPECT_EQ(value, values.at(name)) << path << " " << name;
    onnx::ModelProto expected = model.proto;
    onnx::ModelProto got = result.proto;
    for (onnx::ModelProto* proto : {&expected, &got}) {
      for (auto& t : *proto->mutable_graph()->mutable_initializer()) {
        if (values.count(t.name()) == 0) continue;
        EXPECT_TRUE(t.has_raw_data());
        t.mutable_raw_data()->clear();
      }
    }
    EXPECT_EQ(got.SerializeAsString(), expected.SerializeAsString()) << path;
    EXPECT_EQ(result.bytes.size(), model.bytes.size()) << path;
  }
  EXPECT_GT(changed, 500u);
}

TEST(Exporter, OneTensorLeavesTheOthers) {
  const ModelFile model = read_model_file(kData / "golden/mlp_legacy_train_9/model.onnx");
  const auto before = float_initializers(model);
  const std::string name = before.begin()->first;
  const ModelFile result = parse_model_file(exported(model, {{name, plus_one(before.at(name))}}), "out.onnx");
  for (const auto& [n, value] : float_initializers(result)) {
    EXPECT_EQ(value, n == name ? plus_one(before.at(n)) : before.at(n)) << n;
  }
}

// Whatever damaged file can still be read is written as it was read.
TEST(Exporter, DamagedModels) {
  const std::string bytes = read_file(kData / "cases/constant_node_weights/model.onnx");
  const TemporaryFolder folder;
  int written = 0;
  for (size_t i = 0; i < bytes.size(); i += 11) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    try {
      const ModelFile model = parse_model_file(damaged, "in.onnx");
      export_model(model, {}, folder / "out.onnx");
      EXPECT_EQ(read_file(folder / "out.onnx"), damaged);
      ++written;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::model) << e.what();
    }
  }
  EXPECT_GT(written, 20);
}

// FunctionProto.attribute_proto came after libonnx 1.12, so its content was not checked on reading.
TEST(Exporter, CorruptNewerFieldIsRefused) {
  onnx::ModelProto m = empty_model();
  m.add_functions()->mutable_unknown_fields()->AddLengthDelimited(11, "\x2a\x7f");
  const TemporaryFolder folder;
  EXPECT_THROW(export_model(in_memory(m), {}, folder / "out.onnx"), Error);
  EXPECT_TRUE(names_in(folder).empty());
}

// ---- representations

struct FloatType {
  onnx::TensorProto::DataType type;
  DataType dtype;
};
constexpr FloatType kFloats[] = {{onnx::TensorProto::FLOAT, DataType::f32},
                                 {onnx::TensorProto::DOUBLE, DataType::f64},
                                 {onnx::TensorProto::FLOAT16, DataType::f16},
                                 {onnx::TensorProto::BFLOAT16, DataType::bf16}};

void set_typed(onnx::TensorProto& t, const HostTensor& value) {
  if (value.dtype == DataType::f32) {
    for (const float x : value.as<float>()) t.add_float_data(x);
  } else if (value.dtype == DataType::f64) {
    for (const double x : value.as<double>()) t.add_double_data(x);
  } else {
    for (const uint16_t x : value.as<uint16_t>()) t.add_int32_data(x);
  }
}

TEST(Exporter, KeepsTypeAndRepresentation) {
  const HostTensor old_values = f32({2, 2}, {1, -2, 0.5, 0});
  const HostTensor new_values = f32({2, 2}, {0.1f, 1e-3f, -3.14159f, 65504});
  for (const auto& [type, dtype] : kFloats) {
    for (const bool raw : {true, false}) {
      onnx::ModelProto before = empty_model();
      onnx::ModelProto after = empty_model();
      for (auto& [proto, values] : {std::pair(&before, old_values), std::pair(&after, new_values)}) {
        onnx::TensorProto* t = add_initializer(*proto, "w", type, {2, 2});
        const HostTensor own_type = values.to(dtype);
        if (raw) {
          t->set_raw_data(own_type.bytes.data(), own_type.bytes.size());
        } else {
          set_typed(*t, own_type);
        }
        t->set_doc_string("kept");
        add_initializer(*proto, "other", onnx::TensorProto::STRING, {1})->add_string_data("kept");
      }
      EXPECT_EQ(exported(in_memory(before), {{"w", new_values}}), after.SerializeAsString())
          << name_of(dtype) << (raw ? " raw" : " typed");
    }
  }
}

TEST(Exporter, Float64ValuesKeepTheirBits) {
  onnx::ModelProto m = empty_model();
  add_initializer(m, "w", onnx::TensorProto::DOUBLE, {1})->add_double_data(1);
  HostTensor third(DataType::f64, {1});
  third.as<double>()[0] = 1.0 / 3;
  const ModelFile result = parse_model_file(exported(in_memory(m), {{"w", third}}), "out.onnx");
  EXPECT_EQ(result.proto.graph().initializer(0).double_data(0), 1.0 / 3);
}

TEST(Exporter, IntegersAndEmptyTensors) {
  onnx::ModelProto m = empty_model();
  add_initializer(m, "steps", onnx::TensorProto::INT64, {})->add_int64_data(7);
  add_initializer(m, "empty", onnx::TensorProto::FLOAT, {0, 3});
  add_initializer(m, "empty_raw", onnx::TensorProto::FLOAT, {0})->set_raw_data("");
  const ModelFile model = in_memory(m);
  const TensorsByName values = {
      {"steps", HostTensor::i64({}, std::vector<int64_t>{8})}, {"empty", f32({0, 3}, {})}, {"empty_raw", f32({0}, {})}};
  m.mutable_graph()->mutable_initializer(0)->set_int64_data(0, 8);
  EXPECT_EQ(exported(model, values), m.SerializeAsString());
}

// A writer may split a packed field, or not pack it: readers join the parts.
TEST(Exporter, SplitDataFields) {
  const auto tensor_bytes = [](const std::string& data) { return "\x08\x03\x10\x01" + data + "\x42\x01w"; };
  const auto model_bytes = [](const std::string& tensor) {
    const std::string graph = std::string("\x2a") + static_cast<char>(tensor.size()) + tensor;
    return std::string("\x08\x08\x3a") + static_cast<char>(graph.size()) + graph + std::string("\x42\x02\x10\x11");
  };
  const auto bits = [](float x) { return std::string(reinterpret_cast<const char*>(&x), 4); };
  const std::string split = "\x25" + bits(1) + "\x22\x08" + bits(2) + bits(3);
  const std::string whole = "\x22\x0c" + bits(4) + bits(5) + bits(6);
  const ModelFile model = parse_model_file(model_bytes(tensor_bytes(split)), "in.onnx");
  EXPECT_EQ(exported(model, {{"w", f32({3}, {4, 5, 6})}}), model_bytes(tensor_bytes(whole)));
}

TEST(Exporter, UnknownFieldsStay) {
  onnx::ModelProto m = empty_model();
  onnx::TensorProto* t = add_initializer(m, "w", 1, {1});
  t->add_float_data(1);
  for (auto* fields :
       {m.mutable_unknown_fields(), m.mutable_graph()->mutable_unknown_fields(), t->mutable_unknown_fields()}) {
    fields->AddVarint(1000, 5);
    fields->AddLengthDelimited(1001, "metadata");
    fields->AddGroup(1002)->AddFixed32(1, 7);
  }
  const ModelFile model = in_memory(m);
  EXPECT_EQ(exported(model, {}), model.bytes);
  t->set_float_data(0, 2);
  EXPECT_EQ(exported(model, {{"w", f32({1}, {2})}}), m.SerializeAsString());
}

// Protobuf merges repeated occurrences of the graph: initializers may lie in any of them.
TEST(Exporter, GraphInTwoParts) {
  onnx::ModelProto first = empty_model();
  add_initializer(first, "a", 1, {1})->add_float_data(1);
  onnx::ModelProto second;
  add_initializer(second, "b", 1, {1})->add_float_data(2);
  const ModelFile model = parse_model_file(first.SerializeAsString() + second.SerializeAsString(), "in.onnx");
  first.mutable_graph()->mutable_initializer(0)->set_float_data(0, 3);
  second.mutable_graph()->mutable_initializer(0)->set_float_data(0, 4);
  EXPECT_EQ(exported(model, {{"a", f32({1}, {3})}, {"b", f32({1}, {4})}}),
            first.SerializeAsString() + second.SerializeAsString());
}

// ---- Constant nodes and sparse tensors

TEST(Exporter, ConstantNodes) {
  const auto build = [](const HostTensor& tensor, float number, const Floats& list) {
    ModelBuilder m;
    m.graph.node("Constant", {}, {"t"}, {{"value", tensor}}, "first")
        .node("Constant", {}, {"n"}, {{"value_float", number}})
        .node("Constant", {}, {"l"}, {{"value_floats", list}}, "", "ai.onnx")
        .node("Constant", {}, {"other"}, {{"value_float", 9.0}})
        .node("Relu", {"t"}, {"t2"});
    return m.bytes();
  };
  const HostTensor old_tensor = f32({2}, {1, 2});
  const HostTensor new_tensor = f32({2}, {3, 4});
  const ModelFile model = parse_model_file(build(old_tensor, 1, {1, 2, 3}), "in.onnx");
  EXPECT_EQ(exported(model, {}), model.bytes);
  EXPECT_EQ(exported(model, {{"t", new_tensor}, {"n", f32({}, {-1})}, {"l", f32({3}, {4, 5, 6})}}),
            build(new_tensor, -1, {4, 5, 6}));
}

TEST(Exporter, ConstantCases) {
  for (const char* name : {"constant_node_weights", "constant_node_value_floats"}) {
    const ModelFile model = read_model_file(kData / "cases" / name / "model.onnx");
    TensorsByName same;
    TensorsByName other;
    for (const auto& n : model.proto.graph().node()) {
      if (n.op_type() != "Constant") continue;
      const HostTensor value = read_constant(n, model);
      if (!is_float(value.dtype)) continue;
      same[n.output(0)] = value;
      other[n.output(0)] = plus_one(value);
    }
    EXPECT_GE(same.size(), 2u);
    EXPECT_EQ(exported(model, same), model.bytes);
    const ModelFile result = parse_model_file(exported(model, other), "out.onnx");
    for (const auto& n : result.proto.graph().node()) {
      if (other.count(n.output(0)) == 0) continue;
      EXPECT_EQ(read_constant(n, result), other.at(n.output(0)));
    }
  }
}

// A zero may be left out on the wire (proto3 writers), lists of floats may be packed.
TEST(Exporter, ConstantsOfOtherWriters) {
  onnx::ModelProto m = empty_model();
  const auto add_constant = [&](const std::string& output, const std::string& attribute_bytes) {
    onnx::NodeProto* n = m.mutable_graph()->add_node();
    n->set_op_type("Constant");
    n->add_output(output);
    n->mutable_unknown_fields()->AddLengthDelimited(5, attribute_bytes);
  };
  const auto bits = [](float x) { return std::string(reinterpret_cast<const char*>(&x), 4); };
  add_constant("zero", std::string("\x0a\x0bvalue_float\xa0\x01\x01"));
  add_constant("packed", std::string("\x0a\x0cvalue_floats\xa0\x01\x06\x3a\x08") + bits(1) + bits(2));
  const ModelFile model = in_memory(m);
  EXPECT_EQ(read_constant(model.proto.graph().node(0), model), f32({}, {0}));
  EXPECT_EQ(exported(model, {{"zero", f32({}, {0})}, {"packed", f32({2}, {1, 2})}}).size(), model.bytes.size() + 5);

  const ModelFile result =
      parse_model_file(exported(model, {{"zero", f32({}, {5})}, {"packed", f32({2}, {3, 4})}}), "out.onnx");
  EXPECT_EQ(read_constant(result.proto.graph().node(0), result), f32({}, {5}));
  EXPECT_EQ(read_constant(result.proto.graph().node(1), result), f32({2}, {3, 4}));
  EXPECT_THAT(result.bytes, HasSubstr("\x3a\x08" + bits(3) + bits(4)));
}

void fill_sparse(onnx::SparseTensorProto& s, const std::string& name) {
  s.add_dims(3);
  s.mutable_values()->set_name(name);
  s.mutable_values()->set_doc_string("kept");
  s.mutable_values()->set_data_type(onnx::TensorProto::FLOAT16);
  s.mutable_values()->add_dims(1);
  s.mutable_values()->add_int32_data(0x3c00);
  s.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  s.mutable_indices()->add_dims(1);
  s.mutable_indices()->add_int64_data(2);
}

TEST(Exporter, SparseTensorsBecomeDense) {
  onnx::ModelProto m = empty_model();
  fill_sparse(*m.mutable_graph()->add_sparse_initializer(), "s");
  fill_sparse(*m.mutable_graph()->add_sparse_initializer(), "untouched");
  onnx::NodeProto* n = m.mutable_graph()->add_node();
  n->set_op_type("Constant");
  n->add_output("c");
  n->add_attribute()->set_name("sparse_value");
  n->mutable_attribute(0)->set_type(onnx::AttributeProto::SPARSE_TENSOR);
  fill_sparse(*n->mutable_attribute(0)->mutable_sparse_tensor(), "");
  const ModelFile model = in_memory(m);
  EXPECT_EQ(exported(model, {}), model.bytes);

  const HostTensor value = f32({3}, {1, 2, 3});
  const ModelFile result = parse_model_file(exported(model, {{"s", value}, {"c", value}}), "out.onnx");
  const onnx::GraphProto& g = result.proto.graph();
  ASSERT_EQ(g.initializer_size(), 1);
  ASSERT_EQ(g.sparse_initializer_size(), 1);
  EXPECT_EQ(g.sparse_initializer(0).values().name(), "untouched");
  EXPECT_EQ(g.initializer(0).name(), "s");
  EXPECT_EQ(g.initializer(0).doc_string(), "kept");
  EXPECT_EQ(read_tensor(g.initializer(0), result), value.to(DataType::f16));
  const onnx::AttributeProto& a = g.node(0).attribute(0);
  EXPECT_EQ(a.name(), "value");
  EXPECT_EQ(a.type(), onnx::AttributeProto::TENSOR);
  EXPECT_FALSE(a.has_sparse_tensor());
  EXPECT_EQ(read_constant(g.node(0), result), value.to(DataType::f16));
}

// ---- faults

TEST(Exporter, UnknownNameOrShapeIsADefect) {
  const ModelFile model = read_model_file(kData / "golden/mlp_legacy_train_9/model.onnx");
  const auto [name, value] = *float_initializers(model).begin();
  const TemporaryFolder folder;
  const auto kind_of = [&](const TensorsByName& values) {
    try {
      export_model(model, values, folder / "out.onnx");
    } catch (const Error& e) {
      return e.kind();
    }
    return ErrorKind::usage;
  };
  EXPECT_EQ(kind_of({{"no such tensor", value}}), ErrorKind::internal);
  EXPECT_EQ(kind_of({{name, f32({1}, {1})}}), ErrorKind::internal);
  EXPECT_TRUE(names_in(folder).empty());
}

// Runs with a limit on the size of files, which fails like a full disk does.
template <class F>
std::string fault_with_file_limit(rlim_t bytes, F f) {
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit limit{bytes, old_limit.rlim_max};
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string message;
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::io);
    message = e.what();
  }
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  return message;
}

TEST(Exporter, FullDiskKeepsThePreviousFile) {
  const ModelFile model = read_model_file(kData / "golden/mlp_legacy_train_9/model.onnx");
  const TemporaryFolder folder;
  write_file(folder / "out.onnx", "previous");
  const std::string message = fault_with_file_limit(1000, [&] { export_model(model, {}, folder / "out.onnx"); });
  EXPECT_THAT(message, HasSubstr(folder / "out.onnx"));
  EXPECT_THAT(message, HasSubstr("cannot be written"));
  EXPECT_EQ(read_file(folder / "out.onnx"), "previous");
  EXPECT_THAT(names_in(folder), ElementsAre("out.onnx"));
}

TEST(Exporter, MissingFolder) {
  const ModelFile model = read_model_file(kData / "golden/mlp_legacy_train_9/model.onnx");
  const TemporaryFolder folder;
  const std::string message =
      fault_with_file_limit(RLIM_INFINITY, [&] { export_model(model, {}, folder / "absent/out.onnx"); });
  EXPECT_THAT(message, HasSubstr("absent/out.onnx: cannot be written: No such file or directory"));
}

}  // namespace
}  // namespace arbalest
