#include "onnx_import/parameter_forms.h"

#include <gmock/gmock.h>

#include "onnx_import/importer.h"
#include "onnx_import/model_builder.h"

namespace arbalest {
namespace {

HostTensor matrix(Dims dims, const std::vector<float>& values) { return HostTensor::f32(dims, values); }

// Two products: with `a` (2 x 3) and with `b` (3 x 2).
ModelPtr two_products(const HostTensor& a, const HostTensor& b) {
  ModelBuilder m(17);
  m.graph.input("x", TensorType{DataType::f32, {Dim::symbol("N"), 2}})
      .initializer("a", a)
      .initializer("b", b)
      .node("MatMul", {"x", "a"}, {"h"})
      .node("MatMul", {"h", "b"}, {"y"})
      .output("y", TensorType{DataType::f32, {Dim::symbol("N"), 2}});
  return load_model_bytes(m.bytes(), "m.onnx");
}

const HostTensor kA = matrix({2, 3}, {1, 2, 3, 4, 5, 6});
const HostTensor kTransposed = matrix({3, 2}, {1, 4, 2, 5, 3, 6});
const HostTensor kOther = matrix({3, 2}, {1, 4, 2, 5, 3, 7});

std::string fault_of(const ModelPtr& model, const ParameterForms& forms) {
  ImportOptions options;
  options.forms = forms;
  try {
    import_model(*model, options);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(ParameterForms, EqualMatricesAreReported) {
  EXPECT_THAT(import_model(*two_products(kA, kTransposed), {}).notices,
              testing::ElementsAre(testing::HasSubstr("'a' and 'b' start with the same values, transposed")));
  EXPECT_THAT(import_model(*two_products(kA, kOther), {}).notices, testing::IsEmpty());
}

TEST(ParameterForms, ATiedTensorFollowsTheOther) {
  ImportOptions options;
  options.forms.ties = {{"a", "b"}};
  const Imported imported = import_model(*two_products(kA, kTransposed), options);
  EXPECT_NE(imported.graph.find_input("a"), nullptr);
  EXPECT_EQ(imported.graph.find_input("b"), nullptr);
  std::map<std::string, HostTensor> trained{{"a", matrix({2, 3}, {10, 20, 30, 40, 50, 60})}};
  complete(imported.forms, trained);
  EXPECT_EQ(trained.at("b"), matrix({3, 2}, {10, 40, 20, 50, 30, 60}));
}

TEST(ParameterForms, MaskedEntriesKeepTheirBits) {
  ImportOptions options;
  options.forms.masks["a"] = std::make_shared<const HostTensor>(matrix({2, 3}, {1, 0, 1, 0, 1, 0}));
  const Imported imported = import_model(*two_products(kA, kOther), options);
  std::map<std::string, HostTensor> trained{{"a", matrix({2, 3}, {9, 9, 9, 9, 9, 9})}};
  complete(imported.forms, trained);
  EXPECT_EQ(trained.at("a"), matrix({2, 3}, {9, 2, 9, 4, 9, 6}));
}

TEST(ParameterForms, RefuseWhatDoesNotFit) {
  const ModelPtr model = two_products(kA, kOther);
  ParameterForms forms;
  forms.ties = {{"a", "c"}};
  EXPECT_THAT(fault_of(model, forms), testing::HasSubstr("'c' is no tensor that trains"));
  forms.ties = {{"a", "b"}, {"b", "a"}};
  EXPECT_THAT(fault_of(model, forms), testing::HasSubstr("follows another tensor already"));
  forms.ties.clear();
  forms.masks["a"] = std::make_shared<const HostTensor>(matrix({3}, {1, 1, 1}));
  EXPECT_THAT(fault_of(model, forms), testing::HasSubstr("the mask of 'a' has shape 3, the tensor 2 x 3"));
}

TEST(ParameterForms, Float64IsTrainedThroughFloat32) {
  ModelBuilder m(17);
  m.graph.input("x", TensorType{DataType::f64, {Dim::symbol("N"), 2}})
      .initializer("w", kA.to(DataType::f64))
      .node("MatMul", {"x", "w"}, {"y"})
      .output("y", TensorType{DataType::f64, {Dim::symbol("N"), 3}});
  const Graph graph = import_model(*load_model_bytes(m.bytes(), "m.onnx"), {}).graph;
  EXPECT_EQ(graph.at(graph.find_input("w")->value).type.dtype, DataType::f32);
  EXPECT_EQ(graph.at(graph.find_output("y")->value).type.dtype, DataType::f64);
}

}  // namespace
}  // namespace arbalest
