#include "tools/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "data/npz.h"
#include "graph/differentiate.h"
#include "onnx_import/edits/model_edits.h"
#include "tools/key_value.h"
#include "tools/open_sizes.h"
#include "tools/table.h"

namespace arbalest::tools {
namespace {

const std::map<std::string, LossKind> kLosses = {{"ce", LossKind::cross_entropy},
                                                 {"mse", LossKind::mean_squared_error},
                                                 {"bce", LossKind::binary_cross_entropy},
                                                 {"output", LossKind::output_mean},
                                                 {"sum", LossKind::output_sum}};

const std::map<std::string, BatchNormPolicy> kPolicies = {
    {"batch", BatchNormPolicy::batch}, {"frozen", BatchNormPolicy::frozen}, {"file", BatchNormPolicy::file}};

template <class T>
T choose(const std::map<std::string, T>& choices, const std::string& name, const std::string& argument) {
  const auto found = choices.find(name);
  if (found != choices.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [n, value] : choices) names.push_back(n);
  throw Error(ErrorKind::usage, "{}: '{}' is none of {}", argument, name, fmt::join(names, ", "));
}

// The loss where the user leaves it open: what the model computes itself, else by the kind of labels.
LossKind choose_loss(const Graph& graph, const ModelArguments& arguments, const DataFacts& data) {
  const auto is_scalar = [&](const GraphOutput& o) {
    return is_float(graph.at(o.value).type.dtype) && graph.at(o.value).type.rank() == 0;
  };
  const GraphOutput* chosen = arguments.output.empty() ? nullptr : graph.find_output(arguments.output);
  if (chosen ? is_scalar(*chosen) : graph.outputs.size() == 1 && is_scalar(graph.outputs[0]))
    return LossKind::output_mean;
  return data.class_labels ? LossKind::cross_entropy : LossKind::mean_squared_error;
}

// "ce", "box=mse", "box=mse*0.5"
LossOptions parse_loss(const std::string& text, const Graph& graph, const ModelArguments& arguments,
                       const DataFacts& data) {
  LossOptions loss;
  loss.output = arguments.output;
  loss.class_axis = arguments.class_axis;
  loss.ignore_index = arguments.ignore_index;
  auto [output, kind] = key_and_value(text);
  if (!output.empty()) loss.output = output;
  if (const size_t star = kind.find('*'); star != std::string::npos) {
    const std::string weight = kind.substr(star + 1);
    char* end = nullptr;
    loss.weight = std::strtod(weight.c_str(), &end);
    if (weight.empty() || *end != 0 || !std::isfinite(loss.weight))
      throw Error(ErrorKind::usage, "--loss {}: '{}' is no weight", text, weight);
    kind.resize(star);
  }
  loss.kind = kind == "auto" ? choose_loss(graph, arguments, data) : choose(kLosses, kind, "--loss " + text);
  if (loss.kind == LossKind::cross_entropy) loss.class_weights = arguments.class_weights;
  return loss;
}

std::vector<LossOptions> parse_losses(const Graph& graph, const ModelArguments& arguments, const DataFacts& data) {
  std::vector<LossOptions> losses;
  for (const std::string& text : arguments.losses) losses.push_back(parse_loss(text, graph, arguments, data));
  if (losses.empty()) losses.push_back(parse_loss("auto", graph, arguments, data));
  for (LossOptions& loss : losses)
    if (losses.size() > 1) loss.label = fmt::format("{}/{}", loss.label, loss.output);
  return losses;
}

}  // namespace

void add_model_argument(CLI::App& command, ModelArguments& arguments) {
  command.add_option("model", arguments.path, "ONNX file")->required()->option_text("MODEL");
  add_size_option(command, arguments);
}

void add_size_option(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("--dim", arguments.dims,
                  "NAME=SIZE: the size of an axis that the file leaves open and names, such as the length of sequences")
      ->allow_extra_args(false);
}

void add_loss_options(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option(
          "--loss", arguments.losses,
          "ce: cross-entropy of logits; mse; bce: binary cross-entropy of logits; output: the mean of an output "
          "that is a loss;\n"
          "sum: its sum; auto (default): by the labels. Several: --loss cls=ce --loss 'box=mse*0.5'")
      ->allow_extra_args(false);
  command.add_option("--output", arguments.output,
                     "model output that the loss is taken of (default: the only float output)");
  command.add_option("--class-axis", arguments.class_axis, "ce: axis of the classes (default: 1)");
  command.add_option("--ignore-index", arguments.ignore_index, "ce: label of positions that do not count");
  command.add_option("--class-weights", arguments.class_weights, "ce: a weight for each class, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void add_selection_options(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("--train", arguments.train,
                  "train only what matches: names of initializers or of nodes, with * and ?")
      ->allow_extra_args(false);
  command.add_option("--freeze", arguments.freeze, "keep what matches as it is")->allow_extra_args(false);
  command.add_option("--freeze-mask", arguments.freeze_masks,
                     "keep single elements: an .npz file with arrays named like tensors, 0 where an element stays");
  command.add_option("--tie", arguments.ties, "ORIGINAL=COPY: train two equal (or transposed) tensors as one")
      ->allow_extra_args(false);
}

void add_edit_options(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("--replace-head", arguments.heads,
                  "LAYER=OUTPUTS: a new layer in place of a Gemm, MatMul or Conv, with another number of outputs")
      ->allow_extra_args(false);
  command
      .add_option(
          "--reinit", arguments.start_values,
          "begin without the file's values: weights uniform by fan (kaiming: for Relu; xavier), biases 0, scales "
          "1;\nalso weights that a ConstantOfShape makes. What --freeze names stays")
      ->check(CLI::IsMember({"kaiming", "xavier"}));
  command
      .add_option("--reinitialise", arguments.reinitialised,
                  "draw anew only the tensors whose names match, by --reinit's rule or as PyTorch's layers begin")
      ->allow_extra_args(false);
  command.add_flag("--keep-shared", arguments.keep_shared,
                   "train scales and biases of several layers that the exporter merged as one tensor");
}

void add_layer_options(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("--bn", arguments.batch_norm,
                  "statistics of BatchNormalization: batch (default), frozen, or file: as the node says;\n"
                  "NODE=POLICY for the nodes that a pattern names")
      ->allow_extra_args(false);
  command.add_flag("--straight-through", arguments.straight_through,
                   "let gradients pass Round, Floor, Ceil and Sign as if they were the identity");
  command.add_flag("--dropout,!--no-dropout", arguments.dropout,
                   "let Dropout nodes drop while training (default: off, as in the file)");
}

Bindings Session::batch(int64_t size) const {
  if (!batch_symbol().empty()) return {{batch_symbol(), size}};
  const auto fixed = fixed_batch();
  if (fixed && *fixed != size)
    throw Error(ErrorKind::usage,
                "--batch {}: the model fixes its batch to {}; use that, or export it with a free batch", size, *fixed);
  return {};
}

void Session::require_parameters() const {
  for (const ParameterReport& p : training.parameters)
    if (p.trains) return;
  std::string why;
  for (const std::string& notice : notices) why += "\n  " + notice;
  throw Error(ErrorKind::model, "nothing to train: the model has no trainable parameters; inspect says why{}", why);
}

std::map<std::string, HostTensor> Session::completed(std::map<std::string, HostTensor> trained) const {
  complete(training.forms, trained);
  return trained;
}

void Session::set_initial(const std::string& name, const HostTensor& value) {
  for (Graph* graph : {&training.graph, &evaluation.graph}) {
    const auto input = std::find_if(graph->inputs.begin(), graph->inputs.end(),
                                    [&](const GraphInput& i) { return i.name == name && i.initial; });
    if (input == graph->inputs.end()) throw Error(ErrorKind::usage, "'{}' is no tensor that trains", name);
    if (value.dims != input->initial->dims)
      throw Error(ErrorKind::usage, "'{}' has shape {}, the model has {}", name, to_string(value.dims),
                  to_string(input->initial->dims));
    input->initial = std::make_shared<const HostTensor>(value.to(input->initial->dtype));
  }
}

std::optional<int64_t> Session::fixed_batch() const {
  for (const GraphInput& input : training.graph.inputs) {
    const Shape& shape = training.graph.at(input.value).type.shape;
    if (input.role == InputRole::data && shape.rank() > 0 && shape[0].is_constant()) return shape[0].value();
  }
  return std::nullopt;
}

std::optional<int64_t> Session::classes() const {
  const Graph& graph = training.graph;
  const auto is_label = [&](ValueId v) {
    return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                       [&](const GraphInput& i) { return i.value == v && i.role == InputRole::label; });
  };
  std::optional<int64_t> fewest;
  for (const Node& node : graph.nodes) {
    const auto* loss = std::get_if<CrossEntropy>(&node.primitive);
    if (!loss || !is_label(node.inputs[1])) continue;
    const int64_t classes = graph.at(node.inputs[0]).type.shape.at(loss->axis).value();
    fewest = std::min(fewest.value_or(classes), classes);
  }
  return fewest;
}

Session open_session(const ModelArguments& arguments, const DataFacts& data) {
  return open_session(load_model(arguments.path), arguments, data);
}

ImportOptions import_options(const ModelArguments& arguments) {
  ImportOptions options;
  options.dropout = arguments.dropout;
  options.straight_through = arguments.straight_through;
  options.selection = {arguments.train, arguments.freeze};
  options.bindings = read_sizes(arguments.dims);
  options.forms.masks = arguments.masks;
  if (!arguments.freeze_masks.empty()) {
    const NpzFile file(arguments.freeze_masks);
    for (const std::string& name : file.names())
      options.forms.masks[name] = std::make_shared<const HostTensor>(file.read(name));
  }
  for (const std::string& tie : arguments.ties) {
    options.forms.ties.push_back(key_and_value(tie));
    if (options.forms.ties.back().first.empty()) throw Error(ErrorKind::usage, "--tie {}: give ORIGINAL=COPY", tie);
  }
  for (const std::string& text : arguments.batch_norm) {
    const auto [node, name] = key_and_value(text);
    const BatchNormPolicy policy = choose(kPolicies, name, "--bn " + text);
    if (node.empty()) {
      options.batch_norm = policy;
    } else {
      options.batch_norm_of.emplace_back(node, policy);
    }
  }
  return options;
}

ModelEdits model_edits(const ModelArguments& arguments) {
  ModelEdits edits;
  for (const std::string& text : arguments.heads) {
    const auto [layer, outputs] = key_and_value(text);
    char* end = nullptr;
    const int64_t classes = std::strtoll(outputs.c_str(), &end, 10);
    if (layer.empty() || outputs.empty() || *end != 0)
      throw Error(ErrorKind::usage, "--replace-head {}: give LAYER=OUTPUTS", text);
    edits.heads.push_back({layer, classes});
  }
  edits.reinitialised = arguments.reinitialised;
  if (!arguments.start_values.empty())
    edits.start = arguments.start_values == "xavier" ? StartRule::xavier : StartRule::kaiming;
  edits.selection = {arguments.train, arguments.freeze};
  edits.untie = !arguments.keep_shared;
  edits.seed = arguments.seed;
  return edits;
}

Session open_session(ModelPtr model, const ModelArguments& arguments, const DataFacts& data) {
  Session s;
  std::vector<std::string> edited;
  s.model = edit_model(std::move(model), model_edits(arguments), edited);
  ImportOptions options = import_options(arguments);
  s.training = import_with_data(*s.model, options, data);
  options.mode = ImportMode::inference;
  s.evaluation = import_with_data(*s.model, options, data);
  s.notices = std::move(edited);
  s.notices.insert(s.notices.end(), s.training.notices.begin(), s.training.notices.end());
  s.losses = parse_losses(s.training.graph, arguments, data);
  for (std::string& notice : attach_losses(s.training.graph, s.losses)) s.notices.push_back(std::move(notice));
  attach_losses(s.evaluation.graph, s.losses);
  return s;
}

std::vector<std::string> gradient_notices(const Session& session, const Bindings& bindings) {
  Graph graph = session.training.graph;
  if (graph.segment_ends.empty()) bind(graph, bindings);  // else only a step binds all
  try {
    differentiate(graph);
  } catch (const Error&) {
    if (graph.segment_ends.empty()) throw;
    return {};  // the first step says what is wrong, if anything is
  }
  std::vector<bool> stays(graph.values.size(), false);
  for (const ParameterGradient& g : graph.gradients) stays[g.parameter.at()] = !g.gradient;
  std::vector<std::string> names;
  for (const GraphInput& input : graph.inputs)
    if (stays[input.value.at()]) names.push_back(fmt::format("'{}'", input.name));
  if (names.empty()) return {};
  constexpr size_t kShown = 8;
  const std::string more = names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "";
  names.resize(std::min(names.size(), kShown));
  return {
      fmt::format("no gradient reaches {}{}, which stay as they are: the loss does not depend on them, or only through "
                  "steps such as Round (--straight-through)",
                  fmt::join(names, ", "), more)};
}

std::vector<std::string> match_inputs(const Graph& graph, const Dataset& data) {
  std::vector<const GraphInput*> wanted;
  for (const GraphInput& input : graph.inputs)
    if (input.role == InputRole::data) wanted.push_back(&input);
  if (wanted.size() != data.inputs.size())
    throw Error(ErrorKind::usage, "{}: the model takes {} inputs, the data have {}", data.name, wanted.size(),
                data.inputs.size());
  std::vector<std::string> names;
  for (const Column& column : data.inputs) {
    const GraphInput* input = wanted[0];
    if (wanted.size() > 1) {
      const auto it =
          std::find_if(wanted.begin(), wanted.end(), [&](const GraphInput* i) { return i->name == column.name; });
      if (it == wanted.end()) throw Error(ErrorKind::usage, "{}: the model has no input '{}'", data.name, column.name);
      input = *it;
    }
    const TensorType& type = graph.at(input->value).type;
    Shape sample = type.shape;
    if (!sample.empty()) sample.erase(sample.begin());
    if (sample != Shape(column.sample()))
      throw Error(ErrorKind::usage, "input '{}' takes {}, {} has {}", input->name, to_string(sample), data.name,
                  to_string(column.sample()));
    if (type.dtype != DataType::f32)
      throw Error(ErrorKind::unsupported, "input '{}' is {}; data sets give float32", input->name, name_of(type.dtype));
    names.push_back(input->name);
  }
  return names;
}

DataFacts facts_of(const Dataset& data) {
  DataFacts facts;
  for (const Column& column : data.inputs) facts.samples[column.name] = column.sample();
  facts.class_labels = data.has_classes();
  return facts;
}

}  // namespace arbalest::tools
