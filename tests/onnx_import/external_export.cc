// Export of models whose tensors lie in other files.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "onnx_import/exporter.h"
#include "onnx_import/model_builder.h"
#include "onnx_import/tensor_reader.h"
#include "tests/onnx_import/fixtures.h"
#include "tests/temporary_folder.h"

namespace arbalest {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Entries = std::vector<std::pair<std::string, std::string>>;
using TensorsByName = std::map<std::string, HostTensor>;

const fs::path kCase = kData / "cases/external_ok";

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}

void fill_external(onnx::TensorProto& t, const std::string& name, int64_t count, const Entries& entries) {
  t.set_name(name);
  t.set_data_type(onnx::TensorProto::FLOAT);
  t.add_dims(count);
  t.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* entry = t.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

Entries entries_of(const onnx::TensorProto& t) {
  Entries entries;
  for (const auto& e : t.external_data()) entries.emplace_back(e.key(), e.value());
  return entries;
}

class ExternalExport : public ::testing::Test {
 protected:
  ExternalExport() {
    proto_.set_ir_version(8);
    proto_.add_opset_import()->set_version(17);
    proto_.mutable_graph()->set_name("g");
  }

  void add(const std::string& name, int64_t count, const Entries& entries) {
    fill_external(*proto_.mutable_graph()->add_initializer(), name, count, entries);
  }

  ModelFile model() {
    write_file(folder_ / "in.onnx", proto_.SerializeAsString());
    return read_model_file(folder_ / "in.onnx");
  }

  ModelFile exported(const TensorsByName& values) {
    export_model(model(), values, folder_ / "out.onnx");
    return read_model_file(folder_ / "out.onnx");
  }

  TemporaryFolder folder_;
  onnx::ModelProto proto_;
};

TensorsByName initializers(const ModelFile& model) {
  TensorsByName values;
  for (const auto& t : model.proto.graph().initializer()) values[t.name()] = read_tensor(t, model);
  return values;
}

TEST_F(ExternalExport, Case) {
  fs::copy_file(kCase / "model.onnx", folder_ / "in.onnx");
  fs::copy_file(kCase / "weights.bin", folder_ / "weights.bin");
  const ModelFile in = read_model_file(folder_ / "in.onnx");
  TensorsByName values = initializers(in);

  export_model(in, {}, folder_ / "same.onnx");
  EXPECT_EQ(read_file(folder_ / "same.onnx.data"), read_file(folder_ / "weights.bin"));
  EXPECT_EQ(initializers(read_model_file(folder_ / "same.onnx")), values);

  for (auto& [name, value] : values) {
    for (float& x : value.as<float>()) x += 1;
  }
  export_model(in, values, folder_ / "out.onnx");
  const ModelFile out = read_model_file(folder_ / "out.onnx");
  EXPECT_EQ(initializers(out), values);
  EXPECT_EQ(read_file(folder_ / "weights.bin"), read_file(kCase / "weights.bin"));
  EXPECT_EQ(fs::file_size(folder_ / "out.onnx.data"), fs::file_size(folder_ / "weights.bin"));
  // Everything but the location stays.
  onnx::ModelProto expected = in.proto;
  for (auto& t : *expected.mutable_graph()->mutable_initializer()) {
    for (auto& e : *t.mutable_external_data()) {
      if (e.key() == "location") e.set_value("out.onnx.data");
    }
  }
  EXPECT_EQ(out.bytes, expected.SerializeAsString());
  // Exported again under the same name elsewhere: equal byte for byte.
  fs::create_directory(folder_ / "again");
  export_model(out, {}, folder_ / "again/out.onnx");
  EXPECT_EQ(read_file(folder_ / "again/out.onnx"), out.bytes);
  EXPECT_EQ(read_file(folder_ / "again/out.onnx.data"), read_file(folder_ / "out.onnx.data"));
}

TEST_F(ExternalExport, OffsetsAndGapsStay) {
  std::string data(8192 + 16, '\0');
  data.replace(0, 8, bytes_of({1, 2}));
  data.replace(4096, 12, bytes_of({3, 4, 5}));
  data.replace(8192, 16, bytes_of({6, 7, 8, 9}));
  write_file(folder_ / "d", data);
  add("c", 4, {{"location", "d"}, {"offset", "8192"}, {"length", "16"}});
  add("a", 2, {{"location", "d"}, {"length", "8"}});
  add("b", 3, {{"location", "d"}, {"offset", "4096"}, {"length", "12"}});
  const ModelFile out = exported({{"b", f32({3}, {30, 40, 50})}});
  data.replace(4096, 12, bytes_of({30, 40, 50}));
  EXPECT_EQ(read_file(folder_ / "out.onnx.data"), data);
  EXPECT_EQ(entries_of(out.proto.graph().initializer(0)),
            (Entries{{"location", "out.onnx.data"}, {"offset", "8192"}, {"length", "16"}}));
  EXPECT_EQ(entries_of(out.proto.graph().initializer(1)), (Entries{{"location", "out.onnx.data"}, {"length", "8"}}));
}

TEST_F(ExternalExport, SeveralFilesBecomeOne) {
  write_file(folder_ / "d1", bytes_of({1, 2}));
  write_file(folder_ / "d2", "unused!!" + bytes_of({3, 4}));
  add("b", 2, {{"location", "d2"}, {"offset", "8"}, {"checksum", "stale"}});
  add("a", 2, {{"location", "d1"}});
  const ModelFile out = exported({{"a", f32({2}, {10, 20})}});
  EXPECT_EQ(initializers(out), (TensorsByName{{"b", f32({2}, {3, 4})}, {"a", f32({2}, {10, 20})}}));
  // Files in the order of first use, what no tensor names left out; lengths are told, since the end of file no longer
  // does.
  EXPECT_EQ(entries_of(out.proto.graph().initializer(0)),
            (Entries{{"location", "out.onnx.data"}, {"offset", "0"}, {"length", "8"}}));
  EXPECT_EQ(entries_of(out.proto.graph().initializer(1)),
            (Entries{{"location", "out.onnx.data"}, {"offset", "65536"}, {"length", "8"}}));
}

TEST_F(ExternalExport, SharedBytes) {
  write_file(folder_ / "d", bytes_of({1, 2, 3, 4}));
  add("all", 4, {{"location", "d"}});
  add("middle", 2, {{"location", "d"}, {"offset", "4"}});
  add("end", 2, {{"location", "d"}, {"offset", "8"}});
  EXPECT_EQ(initializers(exported({})), initializers(model()));
  EXPECT_EQ(fs::file_size(folder_ / "out.onnx.data"), 16u);
  const ModelFile out = exported({{"middle", f32({2}, {20, 30})}});
  EXPECT_EQ(
      initializers(out),
      (TensorsByName{{"all", f32({4}, {1, 2, 3, 4})}, {"middle", f32({2}, {20, 30})}, {"end", f32({2}, {3, 4})}}));
}

// Tensors in bodies, attributes and functions refer to the data file too.
TEST_F(ExternalExport, TensorsEverywhere) {
  write_file(folder_ / "d", bytes_of({1, 2, 3, 4, 5, 6}));
  add("w", 1, {{"location", "d"}});
  onnx::AttributeProto* body = proto_.mutable_graph()->add_node()->add_attribute();
  body->set_name("then_branch");
  fill_external(*body->mutable_g()->add_initializer(), "inner", 1, {{"location", "d"}, {"offset", "4"}});
  onnx::AttributeProto* value = proto_.mutable_graph()->add_node()->add_attribute();
  value->set_name("value");
  fill_external(*value->mutable_t(), "", 1, {{"location", "d"}, {"offset", "8"}});
  onnx::AttributeProto* in_function = proto_.add_functions()->add_node()->add_attribute();
  in_function->set_name("value");
  fill_external(*in_function->mutable_t(), "", 1, {{"location", "d"}, {"offset", "12"}});
  onnx::SparseTensorProto* sparse = proto_.mutable_graph()->add_sparse_initializer();
  sparse->add_dims(2);
  fill_external(*sparse->mutable_values(), "s", 1, {{"location", "d"}, {"offset", "16"}});
  *sparse->mutable_indices() = sparse->values();
  sparse->mutable_indices()->mutable_external_data(1)->set_value("20");

  const ModelFile out = exported({{"w", f32({1}, {10})}});
  EXPECT_EQ(read_file(folder_ / "out.onnx.data"), bytes_of({10, 2, 3, 4, 5, 6}));
  const onnx::GraphProto& g = out.proto.graph();
  EXPECT_EQ(read_tensor(g.node(0).attribute(0).g().initializer(0), out), f32({1}, {2}));
  EXPECT_EQ(read_tensor(g.node(1).attribute(0).t(), out), f32({1}, {3}));
  EXPECT_EQ(read_tensor(out.proto.functions(0).node(0).attribute(0).t(), out), f32({1}, {4}));
  EXPECT_EQ(read_tensor(g.sparse_initializer(0).values(), out), f32({1}, {5}));
  EXPECT_EQ(read_tensor(g.sparse_initializer(0).indices(), out), f32({1}, {6}));
}

TEST_F(ExternalExport, OntoItself) {
  write_file(folder_ / "m.onnx.data", bytes_of({1, 2, 3}));
  add("a", 1, {{"location", "m.onnx.data"}});
  add("b", 2, {{"location", "m.onnx.data"}, {"offset", "4"}});
  write_file(folder_ / "m.onnx", proto_.SerializeAsString());
  export_model(read_model_file(folder_ / "m.onnx"), {{"b", f32({2}, {20, 30})}}, folder_ / "m.onnx");
  EXPECT_EQ(read_file(folder_ / "m.onnx.data"), bytes_of({1, 20, 30}));
  EXPECT_EQ(initializers(read_model_file(folder_ / "m.onnx")),
            (TensorsByName{{"a", f32({1}, {1})}, {"b", f32({2}, {20, 30})}}));
  EXPECT_THAT(names_in(folder_), ElementsAre("m.onnx", "m.onnx.data"));
}

TEST_F(ExternalExport, TypesWithoutTensorsAreCopied) {
  write_file(folder_ / "d", "0123456789");
  add("f8", 4, {{"location", "d"}, {"offset", "2"}, {"length", "4"}});
  proto_.mutable_graph()->mutable_initializer(0)->set_data_type(17);
  exported({});
  EXPECT_EQ(read_file(folder_ / "out.onnx.data"), "2345");
}

TEST_F(ExternalExport, FaultsLeaveBothFiles) {
  write_file(folder_ / "d", std::string(5000, 'x'));
  add("w", 1250, {{"location", "d"}});
  const ModelFile in = model();
  write_file(folder_ / "out.onnx", "previous");
  write_file(folder_ / "out.onnx.data", "previous data");
  const auto names = names_in(folder_);

  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const rlimit limit{4096, old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THROW(export_model(in, {}, folder_ / "out.onnx"), Error);
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  fs::resize_file(folder_ / "d", 4000);
  EXPECT_THROW(export_model(in, {}, folder_ / "out.onnx"), Error);
  fs::remove(folder_ / "out.onnx");
  fs::create_directory(folder_ / "out.onnx");
  EXPECT_THROW(export_model(in, {}, folder_ / "out.onnx"), Error);

  EXPECT_EQ(read_file(folder_ / "out.onnx.data"), "previous data");
  EXPECT_EQ(names_in(folder_), names);
}

}  // namespace
}  // namespace arbalest
