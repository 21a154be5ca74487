#include "onnx_import/model_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/base/error.h"
#include "onnx_import/model_builder.h"
#include "onnx_import/tensor_reader.h"
#include "tests/onnx_import/fixtures.h"
#include "tests/temporary_folder.h"
#include "tools/mentions.h"

namespace arbalest {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// Reads the file and all tensors of its main graph.
std::string fault_of_file(const fs::path& path) {
  try {
    const ModelFile model = read_model_file(path);
    for (const auto& t : model.proto.graph().initializer()) read_tensor(t, model);
    for (const auto& t : model.proto.graph().sparse_initializer()) read_tensor(t, model);
    for (const auto& n : model.proto.graph().node()) {
      if (n.op_type() == "Constant") read_constant(n, model);
    }
    return "";
  } catch (const Error& e) {
    EXPECT_NE(e.kind(), ErrorKind::internal) << e.what();
    return e.what();
  }
}

std::string fault_of_bytes(const std::string& bytes) {
  try {
    parse_model_file(bytes, "some/model.onnx");
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(ModelFile, ReadsAllGoldenModels) {
  int count = 0;
  for (const auto& folder : fs::directory_iterator(kData / "golden")) {
    if (!folder.is_directory()) continue;
    ++count;
    for (const char* name : {"model.onnx", "expected.onnx"}) {
      // expected.onnx is no complete model: it holds tensors only, but says its versions.
      EXPECT_EQ(fault_of_file(folder.path() / name), "") << folder.path();
    }
  }
  EXPECT_EQ(count, 37);
}

// What each case in tests/data/cases wants of the reader: case.json says which words the message must have.
TEST(ModelFile, RefusesFaultyCases) {
  for (const char* name : {"file_empty",
                           "file_html",
                           "file_lfs_pointer",
                           "file_text",
                           "file_truncated",
                           "nested_if_150",
                           "ir_version_999",
                           "opset_future",
                           "opset_missing",
                           "external_absolute",
                           "external_length",
                           "external_missing",
                           "external_offset",
                           "external_short",
                           "external_traversal",
                           "mismatch_data_length",
                           "mismatch_element_type",
                           "mismatch_huge_dims",
                           "mismatch_negative_dim",
                           "duplicate_initializers",
                           "duplicate_graph_inputs"}) {
    const fs::path folder = kData / "cases" / name;
    const auto description = nlohmann::json::parse(read_file(folder / "case.json"));
    ASSERT_EQ(description["expect"], "error") << name;
    const std::string message = fault_of_file(folder / "model.onnx");
    EXPECT_NE(message, "") << name;
    for (const std::string words : description["error_mentions"]) EXPECT_TRUE(mentions(message, words)) << name;
  }
}

TEST(ModelFile, StringInitializersAreRefusedWhenRead) {
  const std::string message = fault_of_file(kData / "cases/string_initializer/model.onnx");
  EXPECT_THAT(message, HasSubstr("tensor 'classes': element type string"));
}

TEST(ModelFile, ReadsSoundCases) {
  for (const char* name :
       {"external_ok", "newest_opset", "sparse_initializer", "constant_node_value_floats", "constant_node_weights",
        "double", "fp16", "bf16_cast", "unused_initializers", "unused_imports", "names_unicode_slashes",
        "ir3_weights_as_inputs", "integer_initializers"}) {
    EXPECT_EQ(fault_of_file(kData / "cases" / name / "model.onnx"), "") << name;
  }
}

TEST(ModelFile, SaysWhatElseAFileIs) {
  EXPECT_THAT(fault_of_bytes("PK\x03\x04" + std::string(100, '\0')), HasSubstr("zip archive"));
  EXPECT_THAT(fault_of_bytes("\x1f\x8b\x08" + std::string(100, '\0')), HasSubstr("gzip"));
  EXPECT_THAT(fault_of_bytes("\x89HDF\r\n\x1a\n" + std::string(100, '\0')), HasSubstr("HDF5"));
  EXPECT_THAT(fault_of_bytes(std::string(1000, '\xff')), HasSubstr("some/model.onnx: not an ONNX model"));
  EXPECT_THAT(fault_of_bytes(std::string(1000, '\0')), HasSubstr("not an ONNX model"));
  onnx::ModelProto no_graph;
  no_graph.set_ir_version(8);
  EXPECT_THAT(fault_of_bytes(no_graph.SerializeAsString()), HasSubstr("no graph"));
}

TEST(ModelFile, RefusesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(fault_of_file(folder / "absent.onnx"), HasSubstr("No such file or directory"));
  EXPECT_THAT(fault_of_file(folder.path()), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(fault_of_file(folder / "pipe"), HasSubstr("not a regular file"));
  EXPECT_THAT(fault_of_file("/dev/zero"), HasSubstr("not a regular file"));
  // 3 GiB that take no room on the disk.
  write_file(folder / "huge", "");
  fs::resize_file(folder / "huge", uintmax_t{3} << 30);
  EXPECT_THAT(fault_of_file(folder / "huge"), HasSubstr("2 GiB"));
}

TEST(ModelFile, ChecksVersions) {
  const auto fault = [](int64_t ir, std::vector<std::pair<std::string, int64_t>> opsets) {
    ModelBuilder m;
    m.ir_version = ir;
    m.opsets = std::move(opsets);
    return fault_of_bytes(m.bytes());
  };
  EXPECT_EQ(fault(3, {{"", 7}}), "");
  EXPECT_EQ(fault(14, {{"", 28}}), "");
  EXPECT_EQ(fault(8, {{"ai.onnx", 17}, {"", 17}, {"com.acme", 1000}}), "");
  EXPECT_THAT(fault(2, {{"", 7}}), HasSubstr("IR version 2"));
  EXPECT_THAT(fault(15, {{"", 7}}), HasSubstr("IR version 15"));
  EXPECT_THAT(fault(8, {{"", 29}}), HasSubstr("opset) 29"));
  EXPECT_THAT(fault(8, {{"", 0}}), HasSubstr("version 0"));
  EXPECT_THAT(fault(8, {{"", 17}, {"ai.onnx", 18}}), HasSubstr("versions 17 and 18 of domain 'ai.onnx'"));
  onnx::ModelProto no_ir;
  no_ir.mutable_graph();
  EXPECT_THAT(fault_of_bytes(no_ir.SerializeAsString()), HasSubstr("no ir_version"));
}

TEST(ModelFile, ChecksNamesInBodiesToo) {
  GraphBuilder body("body");
  const HostTensor one = HostTensor::f32({1}, std::vector<float>{1});
  body.initializer("twin", one).initializer("twin", one).output("twin");
  ModelBuilder m;
  m.graph.node("If", {"c"}, {"y"}, {{"then_branch", body}, {"else_branch", body}});
  EXPECT_THAT(fault_of_bytes(m.bytes()), HasSubstr("duplicate initializer 'twin'"));
}

// Every prefix of a model, and the model with any one byte changed: an error or a model, never a crash.
TEST(ModelFile, SurvivesDamage) {
  const std::string bytes = read_file(kData / "cases/constant_node_weights/model.onnx");
  int refused = 0;
  for (size_t n = 0; n < bytes.size(); ++n) refused += fault_of_bytes(bytes.substr(0, n)) != "";
  EXPECT_GT(refused, static_cast<int>(bytes.size()) * 9 / 10);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      try {
        const ModelFile model = parse_model_file(damaged, "model.onnx");
        for (const auto& n : model.proto.graph().node()) {
          if (n.op_type() == "Constant") read_constant(n, model);
        }
      } catch (const Error& e) {
        ASSERT_NE(e.kind(), ErrorKind::internal) << e.what();
      }
    }
  }
}

}  // namespace
}  // namespace arbalest
