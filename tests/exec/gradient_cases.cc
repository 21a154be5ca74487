#include "tests/exec/gradient_cases.h"

namespace arbalest {

namespace {

Scalar x(int i) { return Scalar::input(i, DataType::f64); }

GradientOperand index(Dims dims, std::vector<double> values) {
  return {std::move(dims), std::move(values), OperandKind::index};
}
GradientOperand positive(Dims dims) { return {std::move(dims), {}, OperandKind::parameter, 0.5}; }

Window window(Dims strides, Dims dilations, Dims begin, Dims end) {
  return {std::move(strides), std::move(dilations), std::move(begin), std::move(end)};
}

using Cases = std::vector<GradientCase>;

void add_maps(Cases& c) {
  c.push_back({"map of the output", Map{sigmoid(x(0))}, {{{3, 5}}}});
  c.push_back({"map of the input", Map{log(x(0)) * x(0)}, {positive({7})}});
  c.push_back({"relu", Map{relu(x(0))}, {{{4, 9}}}});
  c.push_back({"map, broadcast in turn", Map{x(0) * exp(x(1)) + x(2)}, {{{3, 1, 4}}, {{2, 1}}, {{}}}});
  c.push_back({"choice", Map{select(x(0) < x(1), x(0) * x(1), x(1))}, {{{4, 5}}, {{5}}}});
  c.push_back({"maximum", Map{max(x(0), x(1)) / x(2)}, {{{6}}, {{6}}, positive({1})}});
  c.push_back({"power", Map{pow(x(0), x(1))}, {positive({5}), {{5}}}});
}

void add_products(Cases& c) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const std::string kind = fmt::format("matmul {}{}", ta ? "T" : "N", tb ? "T" : "N");
      const Dims a = ta ? Dims{4, 3} : Dims{3, 4}, b = tb ? Dims{5, 4} : Dims{4, 5};
      const auto batched = [](Dims lead, const Dims& matrix) {
        lead.insert(lead.end(), matrix.begin(), matrix.end());
        return lead;
      };
      c.push_back({kind, MatMul{ta, tb, true}, {{a}, {b}, {{5}}}});
      c.push_back({kind + " batch", MatMul{ta, tb, false}, {{batched({2}, a)}, {batched({2}, b)}}});
      c.push_back({kind + " shared b", MatMul{ta, tb, true}, {{batched({2, 3}, a)}, {b}, {{5}}}});
      c.push_back({kind + " shared a", MatMul{ta, tb, false}, {{a}, {batched({2, 1}, b)}}});
      c.push_back({kind + " broadcast", MatMul{ta, tb, false}, {{batched({2, 1}, a)}, {batched({3}, b)}}});
    }
  }
}

void add_convolutions(Cases& c) {
  struct Geometry {
    const char* name;
    Window w;
    int64_t groups;
    Dims input, weight, output;
  };
  const Geometry kGeometries[] = {
      {"plain", window({1, 1}, {1, 1}, {0, 0}, {0, 0}), 1, {2, 3, 5, 4}, {4, 3, 3, 2}, {2, 4, 3, 3}},
      {"strided", window({2, 3}, {1, 1}, {1, 0}, {1, 2}), 1, {1, 2, 6, 7}, {3, 2, 3, 3}, {1, 3, 3, 3}},
      {"dilated", window({1, 2}, {2, 1}, {2, 1}, {0, 1}), 1, {2, 1, 5, 5}, {2, 1, 3, 3}, {2, 2, 3, 3}},
      {"grouped", window({1, 1}, {1, 1}, {1, 1}, {1, 1}), 2, {2, 4, 3, 3}, {6, 2, 3, 3}, {2, 6, 3, 3}},
      {"depthwise", window({2, 2}, {1, 1}, {1, 1}, {1, 1}), 3, {2, 3, 4, 5}, {3, 1, 3, 3}, {2, 3, 2, 3}},
      {"one axis", window({2}, {1}, {1}, {2}), 1, {2, 2, 7}, {3, 2, 4}, {2, 3, 4}},
      {"three axes",
       window({1, 2, 1}, {1, 1, 1}, {0, 1, 0}, {1, 0, 0}),
       1,
       {1, 2, 3, 4, 3},
       {2, 2, 2, 2, 2},
       {1, 2, 3, 2, 2}},
  };
  for (const Geometry& g : kGeometries) {
    const std::string name = std::string("conv ") + g.name;
    const Dims spatial(g.input.begin() + 2, g.input.end()), kernel(g.weight.begin() + 2, g.weight.end());
    c.push_back({name, Conv{g.w, g.groups, false}, {{g.input}, {g.weight}}});
    c.push_back({name + " with bias", Conv{g.w, g.groups, true}, {{g.input}, {g.weight}, {{g.weight[0]}}}});
    c.push_back({name + " backward data", ConvBackwardData{g.w, g.groups, Shape(spatial)}, {{g.output}, {g.weight}}});
    c.push_back(
        {name + " backward weights", ConvBackwardWeights{g.w, g.groups, kernel, true}, {{g.input}, {g.output}}});
  }
}

void add_pools(Cases& c) {
  const Window plain = window({2, 2}, {1, 1}, {0, 0}, {0, 0}), padded = window({2, 1}, {1, 1}, {1, 0}, {1, 1});
  const Dims image{2, 3, 5, 4};
  c.push_back({"max pool", MaxPool{plain, {2, 2}, false}, {{image}}});
  c.push_back({"max pool padded, rounding up", MaxPool{padded, {3, 2}, true}, {{image}}});
  c.push_back({"max pool dilated", MaxPool{window({1, 1}, {2, 1}, {0, 1}, {0, 0}), {2, 3}, false}, {{image}}});
  c.push_back({"max pool, one axis", MaxPool{window({1}, {1}, {1}, {1}), {3}, false}, {{{2, 2, 6}}}});
  for (const bool include : {false, true}) {
    const std::string kind = include ? " with padding" : "";
    c.push_back({"average pool" + kind, AveragePool{padded, {3, 2}, false, include}, {{image}}});
    c.push_back({"average pool rounding up" + kind, AveragePool{padded, {2, 3}, true, include}, {{image}}});
    c.push_back({"average pool backward" + kind,
                 AveragePoolBackward{padded, {3, 2}, false, include, {5, 4}},
                 {{{2, 3, 3, 4}}}});
  }
  c.push_back(
      {"global average pool", AveragePool{window({1, 1}, {1, 1}, {0, 0}, {0, 0}), {5, 4}, false, false}, {{image}}});
  c.push_back({"average pool, three axes",
               AveragePool{window({1, 2, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}), {2, 2, 2}, false, false},
               {{{1, 2, 3, 4, 3}}}});
}

void add_normalisations(Cases& c) {
  c.push_back({"batch norm", BatchNorm{}, {{{3, 4, 2, 3}}, {{4}}, {{4}}}});
  c.push_back({"batch norm of rows", BatchNorm{0.01f}, {{{6, 3}}, {{3}}, {{3}}}});
  for (const bool log : {false, true}) {
    const std::string kind = log ? "log softmax" : "softmax";
    c.push_back({kind, Softmax{1, log}, {{{3, 5}}}});
    c.push_back({kind + " of a middle axis", Softmax{1, log}, {{{2, 4, 3}}}});
    c.push_back({kind + " of one element", Softmax{1, log}, {{{3, 1}}}});
  }
  c.push_back({"lrn", Lrn{3, 0.5f, 0.75f, 1.0f}, {{{2, 5, 2, 3}}}});
  c.push_back({"lrn of an even size", Lrn{4, 2.0f, 0.6f, 2.0f}, {{{2, 5, 3}}}});
  c.push_back({"lrn wider than the channels", Lrn{9, 1.0f, 1.0f, 1.0f}, {{{1, 3, 4}}}});
}

void add_losses(Cases& c) {
  const GradientOperand weights{{5}, {}, OperandKind::constant, 0.5}, rows = index({4}, {0, 4, 2, 2});
  for (const LossReduction r : {LossReduction::none, LossReduction::sum, LossReduction::mean}) {
    const std::string kind = fmt::format("cross-entropy {}", static_cast<int>(r));
    c.push_back({kind, CrossEntropy{1, r, {}, false}, {{{4, 5}}, rows}});
    c.push_back({kind + " ignoring", CrossEntropy{1, r, 2, false}, {{{4, 5}}, rows}});
    c.push_back({kind + " last axis", CrossEntropy{2, r, {}, false}, {{{2, 2, 5}}, index({2, 2}, {0, 4, 2, 2})}});
    c.push_back(
        {kind + " of an image", CrossEntropy{1, r, -100, false}, {{{2, 3, 2}}, index({2, 2}, {0, -100, 2, 1})}});
    c.push_back({kind + " weighted", CrossEntropy{1, r, {}, true}, {{{4, 5}}, rows, weights}});
    c.push_back({kind + " weighted, ignoring", CrossEntropy{1, r, 0, true}, {{{4, 5}}, rows, weights}});
  }
}

void add_movement(Cases& c) {
  const Dims d{2, 3, 4};
  c.push_back({"reshape", Reshape{{4, 6}}, {{d}}});
  c.push_back({"transpose", Transpose{{2, 0, 1}}, {{d}}});
  c.push_back({"slice", Slice{{0, 1, 3}, {2, 2, 2}, {1, 1, -2}}, {{d}}});
  c.push_back({"slice backward", SliceBackward{{1, 0, 3}, {3, 3, 4}, {1, 2, -3}}, {{{2, 2, 2}}}});
  c.push_back({"pad", Pad{{0, 1, 2}, {1, 0, 1}, 7}, {{d}}});
  c.push_back({"concat", Concat{1}, {{d}, {{2, 1, 4}}, {{2, 2, 4}}}});
  c.push_back({"expand", Expand{{2, 5, 3, 4}}, {{{2, 1, 3, 1}}}});
  c.push_back({"expand of a scalar", Expand{{2, 3}}, {{{}}}});
  c.push_back({"gather", Gather{1}, {{d}, index({2, 2}, {0, 2, -1, 0})}});
  c.push_back({"gather one", Gather{0}, {{d}, index({}, {1})}});
}

void add_scatters(Cases& c) {
  const Dims d{2, 3, 4};
  const struct {
    const char* name;
    ScatterReduction kind;
  } kKinds[] = {{"set", ScatterReduction::set},
                {"add", ScatterReduction::add},
                {"mul", ScatterReduction::mul},
                {"max", ScatterReduction::max},
                {"min", ScatterReduction::min}};
  for (const auto& k : kKinds) {
    const std::string name = std::string("scatter ") + k.name;
    c.push_back({name, Scatter{1, k.kind}, {{d}, index({2}, {2, 0}), {{2, 2, 4}}}});
    c.push_back({name + ", repeated", Scatter{0, k.kind}, {{{4, 2}}, index({2, 2}, {1, -3, 0, 1}), {{2, 2, 2}}}});
    c.push_back({name + " one", Scatter{2, k.kind}, {{d}, index({}, {3}), {{2, 3}}}});
    c.push_back({name + " nothing", Scatter{0, k.kind}, {{d}, index({0}, {}), {{0, 3, 4}}}});
    c.push_back({name + " onto zeros", Scatter{1, k.kind, true, 3}, {index({4}, {0, 2, 2, 1}), {{2, 4, 2}}}});
  }
  // Two equal values: the central difference is the mean of the slopes to both sides, one half.
  const std::vector<double> ties{1, 5, 1, 2};
  c.push_back(
      {"scatter max, ties", Scatter{0, ScatterReduction::max}, {{{2}, {1, 5}}, index({4}, {0, 1, 1, 1}), {{4}, ties}}});
  c.push_back({"scatter product with zeros",
               Scatter{0, ScatterReduction::mul},
               {{{4}, {2, 3, 0, 5}}, index({7}, {0, 0, 1, 1, 2, 2, 3}), {{7}, {0, 4, 0, 0, 2, 3, 7}}}});
}

void add_orders(Cases& c) {
  for (const bool flag : {false, true}) {
    const std::string kind = flag ? " from the end" : "";
    c.push_back({"cumulative sum" + kind, CumSum{1, false, flag}, {{{2, 3, 4}}}});
    c.push_back({"cumulative sum of those before" + kind, CumSum{2, true, flag}, {{{2, 3, 4}}}});
    c.push_back({flag ? "greatest" : "least", TopK{1, 2, flag}, {{{2, 5, 3}}}});
    c.push_back({flag ? "greatest of all" : "least of all", TopK{0, 4, flag}, {{{4}}}});
  }
  c.push_back({"greatest none", TopK{0, 0, true}, {{{4, 2}}}});
}

void add_reductions(Cases& c) {
  const struct {
    const char* name;
    Reduction kind;
  } kKinds[] = {{"sum", Reduction::sum},
                {"mean", Reduction::mean},
                {"max", Reduction::max},
                {"min", Reduction::min},
                {"product", Reduction::prod}};
  for (const auto& k : kKinds) {
    const std::string name = std::string("reduce ") + k.name;
    c.push_back({name + " rows", Reduce{k.kind, {1}, false}, {{{3, 4}}}});
    c.push_back({name + " batch", Reduce{k.kind, {0}, false}, {{{3, 4}}}});
    c.push_back({name + " outer and inner", Reduce{k.kind, {0, 2}, true}, {{{2, 3, 4}}}});
    c.push_back({name + " middle", Reduce{k.kind, {1}, true}, {{{2, 3, 4}}}});
    c.push_back({name + " all", Reduce{k.kind, {0, 1, 2}, false}, {{{2, 3, 2}}}});
  }
  // Two equal values: the central difference is the mean of the slopes to both sides, one half.
  const std::vector<double> ties{1, 3, 3, -2, 5, 7, 0, 0};
  c.push_back({"reduce max, ties", Reduce{Reduction::max, {1}, false}, {{{2, 4}, ties}}});
  c.push_back({"reduce min, ties", Reduce{Reduction::min, {1}, false}, {{{2, 4}, ties}}});
  c.push_back({"product with zeros", Reduce{Reduction::prod, {1}, false}, {{{3, 3}, {2, 0, 3, 0, 4, 0, 0, 0, 0}}}});
}

}  // namespace

const std::vector<GradientCase>& gradient_cases() {
  static const Cases cases = [] {
    Cases c;
    add_maps(c);
    add_products(c);
    add_convolutions(c);
    add_pools(c);
    add_normalisations(c);
    add_losses(c);
    add_movement(c);
    add_scatters(c);
    add_orders(c);
    add_reductions(c);
    return c;
  }();
  return cases;
}

}  // namespace arbalest
