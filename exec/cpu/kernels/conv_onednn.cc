#include "exec/cpu/kernels/conv_onednn.h"

#include <functional>

#include "graph/base/error.h"

namespace arbalest::cpu {
namespace {

using onednn::PrimitiveDesc;

// Descriptions of a problem's tensors with activations in one layout.
struct Tensors {
  Layout x, y;
  dnnl_memory_desc_t x_desc, y_desc, bias;
  Dims w;  // with an axis of groups

  Tensors(const ConvProblem& p, bool channels_last)
      : x(channels_last ? Layout::channels_last(p.x) : Layout::row_major(p.x)),
        y(channels_last ? Layout::channels_last(p.y) : Layout::row_major(p.y)),
        x_desc(onednn::describe(x, dnnl_f32)),
        y_desc(onednn::describe(y, dnnl_f32)),
        bias(onednn::describe(Layout::row_major({p.w[0]}), dnnl_f32)),
        w(p.w) {
    if (p.groups == 1) return;
    w[0] /= p.groups;
    w.insert(w.begin(), p.groups);
  }
};

// The window in oneDNN's terms: a dilation of 0 is a dense kernel.
struct OnednnWindow {
  Dims strides, dilations, begin, end;

  explicit OnednnWindow(const Window& w)
      : strides(w.strides), dilations(w.dilations), begin(w.pads_begin), end(w.pads_end) {
    for (int64_t& d : dilations) --d;
  }
};

std::optional<PrimitiveDesc> forward_desc(const ConvProblem& p, const Tensors& t, const dnnl_memory_desc_t& w) {
  const OnednnWindow window(p.window);
  dnnl_convolution_desc_t desc;
  if (dnnl_dilated_convolution_forward_desc_init(
          &desc, dnnl_forward_training, dnnl_convolution_direct, &t.x_desc, &w, p.bias ? &t.bias : nullptr, &t.y_desc,
          window.strides.data(), window.dilations.data(), window.begin.data(), window.end.data()) != dnnl_success) {
    return std::nullopt;
  }
  return PrimitiveDesc::create(&desc, p.threads, nullptr);
}

std::optional<PrimitiveDesc> backward_data(const ConvProblem& p, const Tensors& t, const dnnl_memory_desc_t& w,
                                           const PrimitiveDesc& hint) {
  const OnednnWindow window(p.window);
  dnnl_convolution_desc_t desc;
  if (dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &t.x_desc, &w, &t.y_desc,
                                                       window.strides.data(), window.dilations.data(),
                                                       window.begin.data(), window.end.data()) != dnnl_success) {
    return std::nullopt;
  }
  return PrimitiveDesc::create(&desc, p.threads, &hint);
}

std::optional<PrimitiveDesc> backward_weights(const ConvProblem& p, const Tensors& t, const dnnl_memory_desc_t& w,
                                              const PrimitiveDesc& hint) {
  const OnednnWindow window(p.window);
  dnnl_convolution_desc_t desc;
  if (dnnl_dilated_convolution_backward_weights_desc_init(
          &desc, dnnl_convolution_direct, &t.x_desc, &w, p.bias ? &t.bias : nullptr, &t.y_desc, window.strides.data(),
          window.dilations.data(), window.begin.data(), window.end.data()) != dnnl_success) {
    return std::nullopt;
  }
  return PrimitiveDesc::create(&desc, p.threads, &hint);
}

std::optional<PrimitiveDesc> create(const ConvProblem& p, const Tensors& t, ConvPass pass,
                                    const dnnl_memory_desc_t& w) {
  if (pass == ConvPass::forward) return forward_desc(p, t, w);
  const auto hint = forward_desc(p, t, onednn::any_layout(t.w, dnnl_f32));
  if (!hint) return std::nullopt;
  return pass == ConvPass::backward_data ? backward_data(p, t, w, *hint) : backward_weights(p, t, w, *hint);
}

// The pass with weights as it likes best, if all three passes have more than reference code.
std::optional<PrimitiveDesc> create_if_all_are_fast(const ConvProblem& p, const Tensors& t, ConvPass wanted) {
  std::optional<PrimitiveDesc> result;
  for (const ConvPass pass : {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
    auto desc = create(p, t, pass, onednn::any_layout(t.w, dnnl_f32));
    if (!desc || desc->is_reference()) return std::nullopt;
    if (pass == wanted) result = std::move(desc);
  }
  return result;
}

dnnl_memory_desc_t weights_of(const PrimitiveDesc& desc, ConvPass pass) {
  return desc.memory(pass == ConvPass::backward_weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
}

void place_weights(ConvChoice& choice, const ConvProblem& p) {
  const dnnl_memory_desc_t inside = weights_of(choice.primitive, choice.pass);
  if (auto layout = without_group_axis(inside, p.groups)) {
    choice.weights = *layout;
    return;
  }
  choice.weights = Layout::row_major(p.w);
  const auto outside = with_group_axis(choice.weights, p.groups);
  const bool out = choice.pass == ConvPass::backward_weights;
  choice.reorder = PrimitiveDesc::create_reorder(out ? inside : *outside, out ? *outside : inside, p.threads);
  ensure(choice.reorder.has_value(), "oneDNN: cannot reorder the weights of {}", choice.primitive.implementation());
}

size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Offsets in the scratch memory: the primitive's, the reordered weights, the reorder's.
struct Scratch {
  size_t weights, reorder, total;

  explicit Scratch(const ConvChoice& c) : weights(aligned(c.primitive.scratchpad_bytes())), reorder(weights) {
    if (c.reorder) {
      const dnnl_memory_desc_t inside = weights_of(c.primitive, c.pass);
      reorder += aligned(dnnl_memory_desc_get_size(&inside));
    }
    total = reorder + (c.reorder ? c.reorder->scratchpad_bytes() : 0);
  }
};

}  // namespace

std::string ConvChoice::implementation() const {
  return primitive.implementation() + (reorder ? " + weights reordered" : "");
}

size_t ConvChoice::scratch_bytes() const { return Scratch(*this).total; }

std::optional<ConvChoice> choose_convolution(const ConvProblem& p, ConvPass pass,
                                             const std::optional<Layout>& weights) {
  for (const bool channels_last : {true, false}) {
    const Tensors t(p, channels_last);
    const auto best = create_if_all_are_fast(p, t, pass);
    if (!best) continue;
    ConvChoice choice{pass, *best, t.x, t.y, {}, {}};
    if (const auto given = weights ? with_group_axis(*weights, p.groups) : std::nullopt) {
      const auto same = create(p, t, pass, *given);
      if (same && same->implementation() == best->implementation()) choice.primitive = *same;
    }
    place_weights(choice, p);
    return choice;
  }
  return std::nullopt;
}

std::function<void()> bind_convolution(const ConvChoice& c, const onednn::Primitive& primitive,
                                       const std::optional<onednn::Primitive>& reorder, const ConvAddresses& a) {
  const bool forward = c.pass == ConvPass::forward, to_data = c.pass == ConvPass::backward_data;
  const PrimitiveDesc& d = c.primitive;
  const Scratch offsets(c);
  auto* scratch = static_cast<std::byte*>(a.scratch);
  void* w = reorder ? scratch + offsets.weights : a.w;
  std::vector<onednn::Argument> arguments = {
      {to_data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, d.memory(to_data ? dnnl_query_diff_src_md : dnnl_query_src_md), a.x},
      {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, d.memory(forward ? dnnl_query_dst_md : dnnl_query_diff_dst_md), a.y},
      {forward || to_data ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS, weights_of(d, c.pass), w}};
  if (a.bias) {
    arguments.push_back({forward ? DNNL_ARG_BIAS : DNNL_ARG_DIFF_BIAS,
                         d.memory(forward ? dnnl_query_weights_md : dnnl_query_diff_weights_md, 1), a.bias});
  }
  const auto call = std::make_shared<const onednn::BoundCall>(primitive, arguments, scratch);
  if (!reorder) return [call] { call->run(); };

  const bool out = c.pass == ConvPass::backward_weights;
  const auto move = std::make_shared<const onednn::BoundCall>(
      *reorder,
      std::vector<onednn::Argument>{{DNNL_ARG_FROM, reorder->desc().memory(dnnl_query_src_md), out ? w : a.w},
                                    {DNNL_ARG_TO, reorder->desc().memory(dnnl_query_dst_md), out ? a.w : w}},
      scratch + offsets.reorder);
  return [first = out ? call : move, second = out ? move : call] {
    first->run();
    second->run();
  };
}

}  // namespace arbalest::cpu
