#include <numeric>

#include "exec/cpu/kernels/conv_loops.h"
#include "exec/cpu/kernels/conv_onednn.h"
#include "tests/exec/cpu/kernels/reference.h"

namespace arbalest {
namespace {

struct ConvCase {
  const char* name;
  Dims x, w;  // [N, C, ...], [M, C/groups, k...]
  int64_t groups = 1;
  Dims strides, dilations, begin, end;
};

const ConvCase kConvCases[] = {
    {"lenet 1", {2, 1, 12, 12}, {20, 1, 5, 5}, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {"lenet 2", {2, 20, 8, 8}, {50, 20, 5, 5}, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {"resnet stem", {2, 3, 12, 12}, {16, 3, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"resnet 16", {3, 16, 8, 8}, {16, 16, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"resnet stride", {2, 16, 8, 8}, {32, 16, 3, 3}, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {"resnet shortcut", {2, 16, 8, 8}, {32, 16, 1, 1}, 1, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {"1x1", {2, 24, 5, 5}, {40, 24, 1, 1}, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {"few channels", {2, 5, 9, 7}, {7, 5, 3, 2}, 1, {1, 2}, {1, 1}, {1, 0}, {1, 0}},
    {"asymmetric pads", {2, 8, 7, 9}, {16, 8, 3, 3}, 1, {1, 1}, {1, 1}, {0, 2}, {2, 1}},
    {"dilated", {2, 8, 11, 12}, {12, 8, 3, 3}, 1, {1, 1}, {2, 3}, {2, 3}, {2, 3}},
    {"depthwise", {2, 20, 9, 9}, {20, 1, 3, 3}, 20, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"depthwise 32", {2, 32, 9, 9}, {32, 1, 3, 3}, 32, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {"depthwise, two outputs", {2, 6, 6, 6}, {12, 1, 3, 3}, 6, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"groups of 4", {2, 32, 6, 6}, {32, 4, 3, 3}, 8, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"groups of 16", {2, 32, 6, 6}, {48, 16, 3, 3}, 2, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"odd groups", {2, 9, 6, 6}, {15, 3, 2, 2}, 3, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one group an output", {1, 8, 1, 1}, {4, 2, 1, 1}, 4, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {"strides that leave a rest", {2, 4, 10, 9}, {6, 4, 3, 3}, 1, {3, 2}, {1, 1}, {0, 0}, {0, 1}},
    {"kernel wider than the image", {2, 3, 2, 2}, {4, 3, 5, 4}, 1, {1, 1}, {1, 1}, {2, 2}, {2, 2}},
    {"pads wider than the kernel", {1, 2, 3, 3}, {3, 2, 2, 2}, 1, {1, 1}, {1, 1}, {3, 4}, {4, 3}},
    {"one position", {4, 16, 1, 1}, {10, 16, 1, 1}, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {"one channel", {2, 1, 6, 6}, {1, 1, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"1-D", {3, 12, 30}, {20, 12, 5}, 1, {2}, {1}, {2}, {1}},
    {"1-D causal", {3, 8, 20}, {8, 8, 3}, 1, {1}, {4}, {8}, {0}},
    {"1-D depthwise", {3, 9, 20}, {9, 1, 3}, 9, {1}, {1}, {1}, {1}},
    {"3-D", {2, 3, 5, 6, 4}, {8, 3, 3, 2, 3}, 1, {1, 2, 1}, {1, 1, 1}, {1, 0, 1}, {0, 1, 1}},
    {"3-D groups, dilated", {1, 8, 6, 6, 6}, {8, 4, 2, 2, 2}, 2, {1, 1, 1}, {2, 1, 3}, {1, 1, 1}, {1, 1, 1}},
    {"no batch", {0, 3, 5, 5}, {4, 3, 3, 3}, 1, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
};

Window conv_window(const ConvCase& c) { return {c.strides, c.dilations, c.begin, c.end}; }

struct Problem {
  Window window;
  Dims y;
  HostTensor x, w, bias, dy;  // f64

  Problem(const ConvCase& c, std::mt19937& random) : window(conv_window(c)) {
    y = {c.x[0], c.w[0]};
    for (size_t i = 0; i < c.strides.size(); ++i) {
      y.push_back(window_output(window, static_cast<int>(i), c.x[2 + i], c.w[2 + i], false).value());
    }
    const auto draw = [&](const Dims& d) { return random_values(random, d); };
    x = draw(c.x), w = draw(c.w), bias = draw({c.w[0]}), dy = draw(y);
  }
};

// Every product x w that the definition names, in one loop over outputs, channels and kernel positions.
struct ExpectedConv {
  HostTensor y, dx, dw, dbias;

  ExpectedConv(const ConvCase& c, const Problem& p)
      : y(DataType::f64, p.y), dx(DataType::f64, c.x), dw(DataType::f64, c.w), dbias(DataType::f64, {c.w[0]}) {
    const size_t rank = c.strides.size();
    const Dims xs = row_major_strides(c.x), ws = row_major_strides(c.w), ys = row_major_strides(p.y);
    const auto at = [](auto values, int64_t i) -> decltype(auto) { return values[static_cast<size_t>(i)]; };
    for_each_index(p.y, [&](const Dims& o) {
      const int64_t yi = std::inner_product(o.begin(), o.end(), ys.begin(), int64_t{0});
      at(y.as<double>(), yi) += at(p.bias.as<double>(), o[1]);
      at(dbias.as<double>(), o[1]) += at(p.dy.as<double>(), yi);
      const int64_t group = o[1] / (c.w[0] / c.groups);
      for_each_index(Dims(c.w.begin() + 1, c.w.end()), [&](const Dims& k) {
        int64_t xi = o[0] * xs[0] + (group * c.w[1] + k[0]) * xs[1], wi = o[1] * ws[0] + k[0] * ws[1];
        for (size_t i = 0; i < rank; ++i) {
          const int64_t position = o[2 + i] * c.strides[i] - c.begin[i] + k[1 + i] * c.dilations[i];
          if (position < 0 || position >= c.x[2 + i]) return;
          xi += position * xs[2 + i];
          wi += k[1 + i] * ws[2 + i];
        }
        at(y.as<double>(), yi) += at(p.x.as<double>(), xi) * at(p.w.as<double>(), wi);
        at(dx.as<double>(), xi) += at(p.dy.as<double>(), yi) * at(p.w.as<double>(), wi);
        at(dw.as<double>(), wi) += at(p.dy.as<double>(), yi) * at(p.x.as<double>(), xi);
      });
    });
  }
};

// The problems of the table with what the definition gives, computed once.
struct Row {
  const ConvCase& c;
  Problem p;
  ExpectedConv expected;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> list;
    std::mt19937 random(7);
    for (const ConvCase& c : kConvCases) {
      Problem p(c, random);
      ExpectedConv expected(c, p);
      list.push_back({c, std::move(p), std::move(expected)});
    }
    return list;
  }();
  return all;
}

// Runs the three passes, activations in any layouts; gives the implementations' names.
std::vector<std::string> check_conv(const Row& row, DataType type, int threads, double tolerance) {
  const auto& [c, p, expected] = row;
  SCOPED_TRACE(fmt::format("{}, {}, {} threads", c.name, name_of(type), threads));
  std::mt19937 random(9);
  const auto input = [&](const HostTensor& t) { return KernelInput{t.to(type), random_layout(random, t.dims), false}; };
  KernelOptions options;
  options.threads = threads;

  std::vector<KernelInput> inputs = {input(p.x), {p.w.to(type), std::nullopt, true}, {p.bias.to(type), {}, {}}};
  options.outputs = {{type, Shape(p.y)}};
  const KernelResult forward = run_kernel(Conv{p.window, c.groups, true}, inputs, options);
  expect_near(forward.outputs[0], expected.y, tolerance, "y by " + forward.prepared.implementation);

  inputs = {input(p.dy), {p.w.to(type), forward.input_layouts[1], false}};
  options.outputs = {{type, Shape(c.x)}};
  const Shape spatial(Dims(c.x.begin() + 2, c.x.end()));
  const KernelResult data = run_kernel(ConvBackwardData{p.window, c.groups, spatial}, inputs, options);
  expect_near(data.outputs[0], expected.dx, tolerance, "dx by " + data.prepared.implementation);

  inputs = {input(p.x), input(p.dy)};
  options.outputs = {{type, Shape(c.w)}, {type, Shape(Dims{c.w[0]})}};
  options.wanted = {forward.input_layouts[1], std::nullopt};
  const ConvBackwardWeights backward{p.window, c.groups, Dims(c.w.begin() + 2, c.w.end()), true};
  const KernelResult weights = run_kernel(backward, inputs, options);
  expect_near(weights.outputs[0], expected.dw, tolerance, "dw by " + weights.prepared.implementation);
  expect_near(weights.outputs[1], expected.dbias, tolerance, "dbias by " + weights.prepared.implementation);
  return {forward.prepared.implementation, data.prepared.implementation, weights.prepared.implementation};
}

TEST(ConvKernels, DoubleComputesTheDefinition) {
  for (const Row& row : rows()) check_conv(row, DataType::f64, 1, 1e-13);
}

TEST(ConvKernels, FloatAgreesWithoutReferenceCode) {
  for (const Row& row : rows())
    for (const std::string& name : check_conv(row, DataType::f32, 1, 2e-6)) EXPECT_NE(name.substr(0, 3), "ref");
}

TEST(ConvKernels, SeveralThreadsAgree) {
  for (const Row& row : rows()) {
    const std::string name = row.c.name;
    if (name != "lenet 2" && name != "resnet 16" && name != "odd groups" && name != "3-D") continue;
    check_conv(row, DataType::f32, 2, 2e-6);
    check_conv(row, DataType::f64, 3, 1e-13);
  }
}

// What no library kernel does runs in these loops: they must be right in float too.
TEST(ConvKernels, LoopsInFloat) {
  for (const auto& [c, p, expected] : rows()) {
    SCOPED_TRACE(c.name);
    const cpu::ConvSizes sizes(p.window, c.groups, c.x, c.w, p.y);
    const HostTensor x = p.x.to_f32(), w = p.w.to_f32(), bias = p.bias.to_f32(), dy = p.dy.to_f32();
    HostTensor y(DataType::f32, p.y), dx(DataType::f32, c.x), dw(DataType::f32, c.w), dbias(DataType::f32, {c.w[0]});
    const auto data = [](auto& t) { return t.template as<float>().data(); };
    cpu::conv_forward<float>(sizes, 1, data(x), data(w), data(bias), data(y));
    cpu::conv_backward_data<float>(sizes, 1, data(dy), data(w), data(dx));
    cpu::conv_backward_weights<float>(sizes, 1, data(x), data(dy), data(dw), data(dbias));
    expect_near(y, expected.y, 2e-6, "y");
    expect_near(dx, expected.dx, 2e-6, "dx");
    expect_near(dw, expected.dw, 2e-6, "dw");
    expect_near(dbias, expected.dbias, 2e-6, "dbias");
  }
}

TEST(ConvChoice, ActivationsAreChannelsLastInAllThreePasses) {
  for (const ConvCase& c : kConvCases) {
    if (c.x[0] == 0) continue;
    std::mt19937 random(1);
    const Problem p(c, random);
    const cpu::ConvProblem problem{p.window, c.groups, c.x, c.w, p.y, false, 1};
    for (const auto pass : {cpu::ConvPass::forward, cpu::ConvPass::backward_data, cpu::ConvPass::backward_weights}) {
      const auto choice = cpu::choose_convolution(problem, pass, std::nullopt);
      ASSERT_TRUE(choice) << c.name;
      EXPECT_EQ(choice->x, Layout::channels_last(c.x)) << c.name;
      EXPECT_EQ(choice->y, Layout::channels_last(p.y)) << c.name;
      EXPECT_FALSE(choice->primitive.is_reference()) << c.name;
    }
  }
}

TEST(ConvChoice, TakesAFittingLayoutOfTheWeights) {
  const cpu::ConvProblem problem{
      {{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {2, 16, 8, 8}, {16, 16, 3, 3}, {2, 16, 8, 8}, false, 1};
  const auto first = cpu::choose_convolution(problem, cpu::ConvPass::forward, std::nullopt);
  ASSERT_TRUE(first);
  const auto second = cpu::choose_convolution(problem, cpu::ConvPass::forward, first->weights);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->weights, first->weights);
  EXPECT_EQ(second->implementation(), first->implementation());
}

TEST(ConvWeights, GroupAxisComesAndGoes) {
  // gOIhw8i8o of 2 groups of 16 outputs and 12 inputs: as weights [32, 12, 3, 3], blocks of both axes.
  Layout grouped;
  grouped.dims = {2, 16, 12, 3, 3};
  grouped.padded_dims = {2, 16, 16, 3, 3};
  grouped.strides = {2304, 1152, 576, 192, 64};
  grouped.blocks = {{2, 8}, {1, 8}};
  const auto merged = cpu::without_group_axis(onednn::describe(grouped, dnnl_f32), 2);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->text(), "ABcd8b8a");
  EXPECT_EQ(merged->dims, (Dims{32, 12, 3, 3}));
  EXPECT_EQ(merged->padded_dims, (Dims{32, 16, 3, 3}));
  const auto back = cpu::with_group_axis(*merged, 2);
  ASSERT_TRUE(back);
  EXPECT_EQ(onednn::layout_of(*back), grouped);

  // Padding inside each group cannot be expressed.
  grouped.dims = {2, 12, 12, 3, 3};
  EXPECT_FALSE(cpu::without_group_axis(onednn::describe(grouped, dnnl_f32), 2));

  // Goihw8g of depthwise weights [20, 1, 3, 3].
  Layout depthwise;
  depthwise.dims = {20, 1, 1, 3, 3};
  depthwise.padded_dims = {24, 1, 1, 3, 3};
  depthwise.strides = {72, 72, 72, 24, 8};
  depthwise.blocks = {{0, 8}};
  const auto flat = cpu::without_group_axis(onednn::describe(depthwise, dnnl_f32), 20);
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->text(), "Abcd8a");
  EXPECT_EQ(onednn::layout_of(*cpu::with_group_axis(*flat, 20)), depthwise);
}

}  // namespace
}  // namespace arbalest
