#include "onnx_import/edits/model_edits.h"

#include <gmock/gmock.h>

#include <set>

#include "onnx_import/importer.h"
#include "onnx_import/model_builder.h"

namespace arbalest {
namespace {

const Dim kBatch = Dim::symbol("N");

HostTensor filled(Dims dims, float value) {
  return HostTensor::f32(dims, std::vector<float>(static_cast<size_t>(element_count(dims)), value));
}

HostTensor counted(Dims dims) {
  std::vector<float> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  return HostTensor::f32(dims, values);
}

struct Edited {
  Imported imported;
  std::map<std::string, HostTensor> tensors;
  std::vector<std::string> notices;

  std::set<std::string> trained() const {
    std::set<std::string> names;
    for (const ParameterReport& r : imported.parameters)
      if (r.trains) names.insert(r.name);
    return names;
  }
  std::string output(const char* name) const {
    return to_string(imported.graph.at(imported.graph.find_output(name)->value).type);
  }
};

Edited edit(const ModelBuilder& model, const ModelEdits& edits) {
  Edited result;
  const ModelPtr edited = edit_model(load_model_bytes(model.bytes(), "m.onnx"), edits, result.notices);
  result.imported = import_model(*edited, {});
  result.tensors = read_initializers(*edited);
  return result;
}

ModelEdits head(const std::string& layer, int64_t classes) {
  ModelEdits edits;
  edits.heads = {{layer, classes}};
  return edits;
}

ModelBuilder gemm_model() {
  ModelBuilder m(17);
  m.graph.input("x", TensorType{DataType::f32, {kBatch, 4}})
      .initializer("fc.weight", counted({5, 4}))
      .initializer("fc.bias", counted({5}))
      .node("Gemm", {"x", "fc.weight", "fc.bias"}, {"z"}, {{"transB", 1}}, "/fc/Gemm")
      .node("Softmax", {"z"}, {"y"})
      .output("y", TensorType{DataType::f32, {kBatch, 5}});
  return m;
}

TEST(ReplaceHead, FindsALayerByNodePathOutputAndWeight) {
  for (const char* name : {"/fc/Gemm", "fc", "/*/Gemm", "z", "fc.weight"}) {
    const Edited e = edit(gemm_model(), head(name, 3));
    EXPECT_EQ(e.tensors.at("fc.weight").dims, (Dims{3, 4})) << name;
    EXPECT_EQ(e.tensors.at("fc.bias").dims, (Dims{3})) << name;
    EXPECT_EQ(e.output("y"), "float32 N x 3") << name;
    EXPECT_EQ(e.trained(), (std::set<std::string>{"fc.weight", "fc.bias"})) << name;
  }
}

TEST(ReplaceHead, DrawsValuesWithinTheBoundOfTheInputs) {
  const Edited e = edit(gemm_model(), head("fc", 100));
  std::set<float> different;
  for (const float v : e.tensors.at("fc.weight").as<float>()) {
    EXPECT_LE(std::abs(v), 0.5f);  // 1 / sqrt(4)
    different.insert(v);
  }
  EXPECT_EQ(different.size(), 400u);
  EXPECT_EQ(edit(gemm_model(), head("fc", 100)).tensors, e.tensors);  // the seed decides
}

TEST(ReplaceHead, OfAProductWithASumBehind) {
  ModelBuilder m(17);
  m.graph.input("x", TensorType{DataType::f32, {kBatch, 7, 4}})
      .initializer("w", counted({5, 4}))
      .initializer("b", counted({5}))
      .node("Transpose", {"w"}, {"wt"}, {{"perm", Ints{1, 0}}})
      .node("MatMul", {"x", "wt"}, {"z"}, {}, "head")
      .node("Add", {"b", "z"}, {"y"})
      .output("y", TensorType{DataType::f32, {kBatch, 7, 5}});
  const Edited e = edit(m, head("head", 2));
  EXPECT_EQ(e.tensors.at("w").dims, (Dims{2, 4}));
  EXPECT_EQ(e.tensors.at("b").dims, (Dims{2}));
  EXPECT_EQ(e.output("y"), "float32 N x 7 x 2");
}

TEST(ReplaceHead, OfAConvolution) {
  ModelBuilder m(17);
  m.graph.input("x", TensorType{DataType::f32, {kBatch, 4, 6, 6}})
      .initializer("w", counted({5, 4, 1, 1}))
      .node("Conv", {"x", "w"}, {"y"}, {}, "head")
      .output("y", TensorType{DataType::f32, {kBatch, 5, 6, 6}});
  EXPECT_EQ(edit(m, head("head", 2)).output("y"), "float32 N x 2 x 6 x 6");
}

std::string fault_of(const ModelBuilder& m, const ModelEdits& edits) {
  try {
    edit(m, edits);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(ReplaceHead, RefusesWhatIsNotOneLayer) {
  EXPECT_THAT(fault_of(gemm_model(), head("classifier", 3)), testing::HasSubstr("0 layers"));
  EXPECT_THAT(fault_of(gemm_model(), head("classifier", 3)), testing::HasSubstr("'/fc/Gemm'"));
  EXPECT_THAT(fault_of(gemm_model(), head("fc", 0)), testing::HasSubstr("at least 1"));
  ModelBuilder shared(17);
  shared.graph.input("x", TensorType{DataType::f32, {kBatch, 4}})
      .initializer("w", counted({4, 4}))
      .node("MatMul", {"x", "w"}, {"h"}, {}, "body")
      .node("MatMul", {"h", "w"}, {"y"}, {}, "head")
      .output("y", TensorType{DataType::f32, {kBatch, 4}});
  EXPECT_THAT(fault_of(shared, head("head", 3)), testing::HasSubstr("read by several nodes"));
}

// Two normalisations with one scale and one bias; `second` is the matrix of the second layer.
ModelBuilder merged_model(const HostTensor& scale, const char* second) {
  ModelBuilder m(17);
  m.graph.input("x", TensorType{DataType::f32, {kBatch, 4}})
      .initializer("scale", scale)
      .initializer("zeros", filled({4}, 0))
      .initializer("w1", counted({4, 4}))
      .initializer("w2", counted({4, 4}))
      .node("LayerNormalization", {"x", "scale", "zeros"}, {"a"}, {}, "ln1")
      .node("MatMul", {"a", "w1"}, {"b"})
      .node("LayerNormalization", {"b", "scale", "zeros"}, {"c"}, {}, "ln2")
      .node("MatMul", {"c", second}, {"y"})
      .output("y", TensorType{DataType::f32, {kBatch, 4}});
  return m;
}

TEST(Untie, GivesEachLayerACopyOfWhatOnlyEqualValuesMerged) {
  const Edited e = edit(merged_model(filled({4}, 1), "w2"), {});
  EXPECT_EQ(e.trained(), (std::set<std::string>{"scale", "scale/ln2", "zeros", "zeros/ln2", "w1", "w2"}));
  EXPECT_THAT(e.notices, testing::Contains(testing::HasSubstr("'ln1', 'ln2'")));
}

TEST(Untie, LeavesSharedLayersAndOtherValuesAlone) {
  EXPECT_EQ(edit(merged_model(filled({4}, 1), "w1"), {}).trained(), (std::set<std::string>{"scale", "zeros", "w1"}));
  EXPECT_EQ(edit(merged_model(counted({4}), "w2"), {}).trained(),
            (std::set<std::string>{"scale", "zeros", "zeros/ln2", "w1", "w2"}));
  ModelEdits keep;
  keep.untie = false;
  EXPECT_EQ(edit(merged_model(filled({4}, 1), "w2"), keep).trained(),
            (std::set<std::string>{"scale", "zeros", "w1", "w2"}));
}

TEST(Reinitialise, MakesATensorOfConstantOfShape) {
  ModelBuilder m(17);
  m.graph.input("x", TensorType{DataType::f32, {kBatch, 3}})
      .initializer("shape", HostTensor::i64({2}, std::vector<int64_t>{3, 2}))
      .node("ConstantOfShape", {"shape"}, {"w"})
      .node("MatMul", {"x", "w"}, {"y"})
      .output("y", TensorType{DataType::f32, {kBatch, 2}});
  EXPECT_EQ(edit(m, {}).trained(), std::set<std::string>());
  ModelEdits edits;
  edits.reinitialised = {"w"};
  const Edited e = edit(m, edits);
  EXPECT_EQ(e.trained(), (std::set<std::string>{"w"}));
  EXPECT_EQ(e.tensors.at("w").dims, (Dims{3, 2}));
  EXPECT_NE(e.tensors.at("w").as<float>()[0], e.tensors.at("w").as<float>()[1]);
  edits.reinitialised = {"v*"};
  EXPECT_THAT(fault_of(m, edits), testing::HasSubstr("--reinitialise v*"));
}

TEST(Reinitialise, KnowsScalesAndBiases) {
  ModelEdits edits;
  edits.reinitialised = {"*"};
  const Edited e = edit(merged_model(counted({4}), "w2"), edits);
  EXPECT_EQ(e.tensors.at("scale"), filled({4}, 1));
  EXPECT_EQ(e.tensors.at("zeros"), filled({4}, 0));
}

ModelBuilder batch_norm_model(int64_t opset, Attributes attributes, Strings outputs) {
  ModelBuilder m(opset);
  m.graph.input("x", TensorType{DataType::f32, {kBatch, 3, 2, 2}});
  for (const char* name : {"scale", "bias", "mean", "variance"}) m.graph.initializer(name, filled({3}, 2));
  m.graph.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, outputs, std::move(attributes), "bn")
      .output("y", TensorType{DataType::f32, {kBatch, 3, 2, 2}});
  if (outputs.size() > 1) m.graph.output(outputs[1], TensorType{DataType::f32, {3}});
  return m;
}

TEST(InferenceForm, ComputesWithRunningStatistics) {
  ImportOptions as_file;
  as_file.batch_norm = BatchNormPolicy::file;
  for (const ModelBuilder& m :
       {batch_norm_model(17, {{"training_mode", 1}}, {"y", "new_mean", "new_variance"}),
        batch_norm_model(9, {}, {"y", "new_mean", "new_variance", "s", "t"}), batch_norm_model(6, {}, {"y"})}) {
    const ModelPtr model = load_model_bytes(m.bytes(), "m.onnx");
    const auto has_batch_statistics = [&](const ModelPtr& file) {
      const Graph graph = import_model(*file, as_file).graph;
      return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                         [](const Node& n) { return std::holds_alternative<BatchNorm>(n.primitive); });
    };
    EXPECT_TRUE(has_batch_statistics(model));
    const ModelPtr form = in_inference_form(model);
    EXPECT_FALSE(has_batch_statistics(form));
    EXPECT_EQ(read_initializers(*form), read_initializers(*model));
    if (m.graph.outputs.size() > 1) {
      EXPECT_NE(import_model(*form, {}).graph.find_output("new_mean"), nullptr);
    }
    EXPECT_EQ(in_inference_form(form), form);  // nothing left to change
  }
}

}  // namespace
}  // namespace arbalest
