#include "onnx_import/parameters.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_map>

#include "onnx_import/constant_tables.h"
#include "onnx_import/glob.h"
#include "onnx_import/scope.h"
#include "onnx_import/tensor_readers.h"
#include "onnx_import/tensor_roles.h"
#include "onnx_import/trainability.h"

namespace arbalest {
namespace {

// Elementwise operators whose one-element operand of rank 1 may be a learned scale or offset.
constexpr std::string_view kArithmetic[] = {"Add", "Sub", "Mul", "Div"};

template <size_t n>
bool contains(const std::string_view (&list)[n], std::string_view x) {
  return std::find(std::begin(list), std::end(list), x) != std::end(list);
}

struct Reader {
  const FlatNode* node;
  int input;
  Role role;
};
using Readers = std::vector<Reader>;

std::vector<Readers> find_readers(const std::vector<ModelTensor>& tensors, const FlatGraph& graph) {
  std::vector<Readers> all;
  for (const std::vector<TensorReader>& readers : find_tensor_readers(tensors, graph)) {
    Readers with_roles;
    for (const TensorReader& r : readers) with_roles.push_back({r.node, r.input, role_of(*r.node->proto, r.input)});
    all.push_back(std::move(with_roles));
  }
  return all;
}

// Zeros that a loop starts from are no weights.
bool is_zero_state(const HostTensor& t, const Readers& readers) {
  const auto is_loop = [](const Reader& r) {
    return r.node->proto->op_type() == "Loop" || r.node->proto->op_type() == "Scan";
  };
  return std::any_of(readers.begin(), readers.end(), is_loop) &&
         std::all_of(t.bytes.begin(), t.bytes.end(), [](auto byte) { return byte == decltype(byte){}; });
}

// "val_12", "min_val_cast", "_inlfunc_Constant_3": names that exporters give to constants that they lifted.
bool is_generated_name(std::string_view name) {
  if (name.find("Constant") != std::string_view::npos || name.ends_with("_cast")) return true;
  return name.starts_with("val_") &&
         std::all_of(name.begin() + 4, name.end(), [](unsigned char c) { return std::isdigit(c) || c == '_'; });
}

bool is_in_layer(const Readers& readers) {
  return std::any_of(readers.begin(), readers.end(),
                     [](const Reader& r) { return is_weight_of_layer(*r.node->proto, r.input); });
}

// A fill that an exporter lifted: the same everywhere, scattered, or put in under a made-up name where
// GroupNormalization became InstanceNormalization.
bool is_lifted_fill(const ModelTensor& t, const Readers& readers) {
  const bool made_up = is_generated_name(t.name);
  return std::all_of(readers.begin(), readers.end(),
                     [&](const Reader& r) {
                       const std::string& op = r.node->proto->op_type();
                       return op.starts_with("Scatter") || (made_up && op == "InstanceNormalization");
                     }) &&
         is_uniform(*t.value);
}

// Frequencies that are multiplied by positions and read by sines and cosines only.
bool are_rotary_frequencies(const HostTensor& t, const Readers& readers, const Angles& angles) {
  return std::all_of(readers.begin(), readers.end(), [&](const Reader& r) { return angles.holds(*r.node); }) &&
         are_frequencies(t);
}

// Whether a tensor of one element is a weight: in a place of a layer, or a scale or offset with a name of its own.
bool is_single_weight(const ModelTensor& t, const Readers& readers) {
  if (is_in_layer(readers)) return true;
  return t.type.rank() > 0 && readers.size() == 1 && contains(kArithmetic, readers[0].node->proto->op_type()) &&
         !is_generated_name(t.name);
}

std::string place(const Reader& r) { return fmt::format("{} of {}", r.role.what, r.node->label); }

std::string places(const Readers& readers) {
  constexpr size_t kShown = 3;
  std::string text = place(readers.front());
  for (size_t i = 1; i < readers.size() && i < kShown; ++i) text += ", " + place(readers[i]);
  if (readers.size() > kShown) text += fmt::format(" and {} more", readers.size() - kShown);
  return text;
}

std::string_view reason_fixed(TensorUse use) {
  switch (use) {
    case TensorUse::running_statistic:
      return "follows the batches";
    case TensorUse::quantisation:
      return "a constant of quantisation";
    default:
      return "a constant";
  }
}

// What holds without the user's selection.
ParameterReport report_of(const ModelTensor& t, const Readers& readers, const Angles& angles) {
  ParameterReport r{t.name, t.type, TensorUse::other, false, ""};
  if (readers.empty()) {
    r.use = TensorUse::unused;
    r.why = t.value ? "no node reads it" : "unused: no output depends on it";
    return r;
  }
  if (t.is_narrow) {
    r.use = TensorUse::quantisation;
    r.why = fmt::format("of less than 16 bits: {}", places(readers));
    return r;
  }
  if (!is_float(t.type.dtype)) {
    r.use = TensorUse::shape;
    r.why = fmt::format("{}, not a float: {}", name_of(t.type.dtype), places(readers));
    return r;
  }
  const auto with = [&](Effect effect) {
    return std::find_if(readers.begin(), readers.end(), [&](const Reader& x) { return x.role.effect == effect; });
  };
  if (const auto fixed = with(Effect::fixed); fixed != readers.end()) {
    r.use = fixed->role.use;
    r.why = fmt::format("{}: {}", place(*fixed), reason_fixed(r.use));
    return r;
  }
  const auto weight = with(Effect::trains);
  if (weight == readers.end()) {
    r.use = readers.front().role.use;
    r.why = fmt::format("{}: no gradient comes from there", places(readers));
    return r;
  }
  r.use = weight->role.use;
  const TensorPtr value = in_compute_type(t.value);
  if (t.type.shape.element_count() == Dim(0)) {
    r.why = "has no elements";
  } else if (t.type.shape.element_count() == Dim(1) && !is_single_weight(t, readers)) {
    r.use = TensorUse::scalar_constant;
    r.why = fmt::format("one element, taken for a constant ({}); select it by name to train it", places(readers));
  } else if (is_mask(*value) || (is_zeros_and_ones(*value) && !is_in_layer(readers))) {
    r.use = TensorUse::other;
    r.why = fmt::format("taken for a mask by its values ({})", places(readers));
  } else if (is_sinusoidal_table(*value) || are_rotary_frequencies(*value, readers, angles)) {
    r.use = TensorUse::other;
    r.why = fmt::format("sines, cosines or frequencies of positions, a constant ({}); select it by name to train it",
                        places(readers));
  } else if (is_lifted_fill(t, readers)) {
    r.use = TensorUse::other;
    r.why =
        fmt::format("the same everywhere, taken for a constant ({}); select it by name to train it", places(readers));
  } else if (is_zero_state(*t.value, readers)) {
    r.use = TensorUse::other;
    r.why = fmt::format("zeros that a loop starts from ({})", places(readers));
  } else {
    r.trains = true;
    r.why = places(readers);
  }
  return r;
}

// Which tensors each pattern means: by their own name or by the name of a node that reads them.
class Selector {
 public:
  Selector(const std::vector<ModelTensor>& tensors, const std::vector<Readers>& readers)
      : tensors_(tensors), readers_(readers) {}

  std::vector<bool> matches(const std::vector<std::string>& patterns) const {
    std::vector<bool> all(tensors_.size(), false);
    for (const std::string& pattern : patterns) {
      bool any = false;
      for (size_t i = 0; i < tensors_.size(); ++i) {
        if (!matches(pattern, i)) continue;
        all[i] = any = true;
      }
      if (!any) {
        throw Error(ErrorKind::usage, "pattern '{}' matches no tensor and no node that reads one; inspect lists them",
                    pattern);
      }
    }
    return all;
  }

 private:
  bool matches(const std::string& pattern, size_t i) const {
    if (glob_matches(pattern, tensors_[i].name)) return true;
    return std::any_of(readers_[i].begin(), readers_[i].end(),
                       [&](const Reader& r) { return glob_matches(pattern, node_name(*r.node->proto)); });
  }

  const std::vector<ModelTensor>& tensors_;
  const std::vector<Readers>& readers_;
};

bool can_be_selected(const ParameterReport& r, const ModelTensor& t) {
  const bool is_scalar_or_mask = r.use == TensorUse::scalar_constant || r.use == TensorUse::other;
  return t.value && !t.is_narrow && is_float(t.type.dtype) && r.use != TensorUse::hidden &&
         (r.trains || is_scalar_or_mask || t.is_constant_node);
}

void apply_selection(std::vector<ParameterReport>& reports, const std::vector<ModelTensor>& tensors,
                     const std::vector<Readers>& readers, const ParameterSelection& selection) {
  const Selector selector(tensors, readers);
  if (!selection.train.empty()) {
    const std::vector<bool> chosen = selector.matches(selection.train);
    for (size_t i = 0; i < reports.size(); ++i) {
      ParameterReport& r = reports[i];
      if (chosen[i] && !r.trains && can_be_selected(r, tensors[i])) r.why = "selected: " + places(readers[i]);
      if (!chosen[i] && r.trains) r.why = "not selected: " + r.why;
      r.trains = chosen[i] && can_be_selected(r, tensors[i]);
    }
  }
  const std::vector<bool> frozen = selector.matches(selection.freeze);
  for (size_t i = 0; i < reports.size(); ++i) {
    if (!frozen[i] || !reports[i].trains) continue;
    reports[i].trains = false;
    reports[i].why = "frozen by request: " + reports[i].why;
  }
}

}  // namespace

std::string_view name_of(TensorUse use) {
  switch (use) {
    case TensorUse::weight:
      return "weight";
    case TensorUse::bias:
      return "bias";
    case TensorUse::norm_scale:
      return "norm scale";
    case TensorUse::norm_bias:
      return "norm bias";
    case TensorUse::embedding:
      return "embedding";
    case TensorUse::running_statistic:
      return "running statistic";
    case TensorUse::scalar_constant:
      return "scalar constant";
    case TensorUse::shape:
      return "shape";
    case TensorUse::quantisation:
      return "quantisation";
    case TensorUse::bound:
      return "bound";
    case TensorUse::unused:
      return "unused";
    case TensorUse::hidden:
      return "hidden";
    case TensorUse::other:
      return "other";
  }
  return "";
}

std::vector<ParameterReport> decide_trainability(const std::vector<ModelTensor>& tensors, const FlatGraph& graph,
                                                 const ParameterSelection& selection) {
  const std::vector<Readers> readers = find_readers(tensors, graph);
  const Angles angles(graph);
  std::unordered_map<std::string, int> counts;
  for (const ModelTensor& t : tensors) ++counts[t.name];
  std::vector<ParameterReport> reports;
  for (size_t i = 0; i < tensors.size(); ++i) {
    ParameterReport r = report_of(tensors[i], readers[i], angles);
    // Who asks for the name means the other tensor.
    if (tensors[i].in_subgraph && counts[tensors[i].name] > 1) {
      r.use = TensorUse::hidden;
      r.why = fmt::format("in a subgraph, under a name that another tensor has too ({})", r.why);
      r.trains = false;
    }
    reports.push_back(std::move(r));
  }

  const auto trains = [&](size_t i) { return reports[i].trains && !tensors[i].is_constant_node; };
  bool initializer_trains = false;
  for (size_t i = 0; i < tensors.size(); ++i) initializer_trains = initializer_trains || trains(i);
  for (size_t i = 0; i < tensors.size() && initializer_trains; ++i) {
    if (!tensors[i].is_constant_node || !reports[i].trains) continue;
    reports[i].trains = false;
    reports[i].why = "a Constant in a model whose weights are initializers: " + reports[i].why;
  }
  apply_selection(reports, tensors, readers, selection);
  return reports;
}

}  // namespace arbalest
