#include "exec/cpu/kernels/axis_view.h"
#include "exec/cpu/kernels/conv_loops.h"
#include "exec/cpu/kernels/conv_onednn.h"
#include "exec/cpu/kernels/kernels.h"

namespace arbalest::cpu {
namespace {

bool is_empty(const ConvProblem& p) {
  return element_count(p.x) == 0 || element_count(p.w) == 0 || element_count(p.y) == 0;
}

std::optional<ConvChoice> choose(const ConvProblem& p, ConvPass pass, DataType type,
                                 const std::optional<Layout>& weights) {
  if (type != DataType::f32 || is_empty(p)) return std::nullopt;
  return choose_convolution(p, pass, weights);
}

// The layout of input i if it is settled; a parameter that is still free takes the one that the kernel prefers.
std::optional<Layout> settled_layout(const PrepareContext& c, int i) {
  return c.is_free_parameter(i) ? std::nullopt : std::optional(c.input_layout(i));
}

// Where the tensors of a convolution are among the inputs and outputs of the node.
using AddressesOf = std::function<ConvAddresses(const KernelArgs&)>;

Prepared prepare_onednn(const ConvChoice& choice, double flops, AddressesOf addresses) {
  Prepared prepared;
  prepared.implementation = choice.implementation();
  prepared.scratch_bytes = choice.scratch_bytes();
  prepared.flops = flops;
  std::optional<onednn::Primitive> reorder;
  if (choice.reorder) reorder.emplace(*choice.reorder);
  prepared.bind = [choice, primitive = onednn::Primitive(choice.primitive), reorder,
                   addresses = std::move(addresses)](const KernelArgs& a) -> BoundKernel {
    return bind_convolution(choice, primitive, reorder, addresses(a));
  };
  return prepared;
}

template <class Run>
Prepared prepare_loops(DataType type, const ConvSizes& sizes, Run run) {
  return for_float_type(type, [&](auto tag) -> Prepared {
    return {[run](const KernelArgs& a) -> BoundKernel { return run(a, decltype(tag){}); }, 0, "loops", sizes.flops()};
  });
}

}  // namespace

Prepared prepare(const Conv& p, PrepareContext& c) {
  const DataType type = c.input_type(0).dtype;
  const ConvProblem problem{
      p.window, p.groups, c.input_type(0).dims(), c.input_type(1).dims(), c.output_type(0).dims(), p.bias, c.threads()};
  const ConvSizes sizes(p.window, p.groups, problem.x, problem.w, problem.y);
  if (p.bias) c.require_row_major(2);
  if (const auto choice = choose(problem, ConvPass::forward, type, settled_layout(c, 1))) {
    c.require_input(0, choice->x);
    c.require_input(1, choice->weights);
    c.set_output(0, choice->y);
    return prepare_onednn(*choice, sizes.flops(), [bias = p.bias](const KernelArgs& a) {
      return ConvAddresses{a.inputs[0], a.inputs[1], bias ? a.inputs[2] : nullptr, a.outputs[0], a.scratch};
    });
  }
  c.require_row_major(0);
  c.require_row_major(1);
  return prepare_loops(type, sizes, [=, bias = p.bias, threads = c.threads()](const KernelArgs& a, auto tag) {
    using T = decltype(tag);
    const auto *x = static_cast<const T*>(a.inputs[0]), *w = static_cast<const T*>(a.inputs[1]);
    const auto* b = bias ? static_cast<const T*>(a.inputs[2]) : nullptr;
    auto* y = static_cast<T*>(a.outputs[0]);
    return [=] { conv_forward(sizes, threads, x, w, b, y); };
  });
}

Prepared prepare(const ConvBackwardData& p, PrepareContext& c) {
  const DataType type = c.input_type(0).dtype;
  const ConvProblem problem{
      p.window, p.groups, c.output_type(0).dims(), c.input_type(1).dims(), c.input_type(0).dims(), false, c.threads()};
  const ConvSizes sizes(p.window, p.groups, problem.x, problem.w, problem.y);
  if (const auto choice = choose(problem, ConvPass::backward_data, type, settled_layout(c, 1))) {
    c.require_input(0, choice->y);
    c.require_input(1, choice->weights);
    c.set_output(0, choice->x);
    return prepare_onednn(*choice, sizes.flops(), [](const KernelArgs& a) {
      return ConvAddresses{a.outputs[0], a.inputs[1], nullptr, a.inputs[0], a.scratch};
    });
  }
  c.require_row_major(0);
  c.require_row_major(1);
  return prepare_loops(type, sizes, [=, threads = c.threads()](const KernelArgs& a, auto tag) {
    using T = decltype(tag);
    const auto *dy = static_cast<const T*>(a.inputs[0]), *w = static_cast<const T*>(a.inputs[1]);
    auto* dx = static_cast<T*>(a.outputs[0]);
    return [=] { conv_backward_data(sizes, threads, dy, w, dx); };
  });
}

Prepared prepare(const ConvBackwardWeights& p, PrepareContext& c) {
  const DataType type = c.input_type(0).dtype;
  const ConvProblem problem{
      p.window, p.groups, c.input_type(0).dims(), c.output_type(0).dims(), c.input_type(1).dims(), p.bias, c.threads()};
  const ConvSizes sizes(p.window, p.groups, problem.x, problem.w, problem.y);
  if (const auto choice = choose(problem, ConvPass::backward_weights, type, c.wanted_output(0))) {
    c.require_input(0, choice->x);
    c.require_input(1, choice->y);
    c.set_output(0, choice->weights);
    return prepare_onednn(*choice, sizes.flops(), [bias = p.bias](const KernelArgs& a) {
      return ConvAddresses{a.inputs[0], a.outputs[0], bias ? a.outputs[1] : nullptr, a.inputs[1], a.scratch};
    });
  }
  c.require_row_major(0);
  c.require_row_major(1);
  return prepare_loops(type, sizes, [=, bias = p.bias, threads = c.threads()](const KernelArgs& a, auto tag) {
    using T = decltype(tag);
    const auto *x = static_cast<const T*>(a.inputs[0]), *dy = static_cast<const T*>(a.inputs[1]);
    auto *dw = static_cast<T*>(a.outputs[0]), *db = bias ? static_cast<T*>(a.outputs[1]) : nullptr;
    return [=] { conv_backward_weights(sizes, threads, x, dy, dw, db); };
  });
}

}  // namespace arbalest::cpu
