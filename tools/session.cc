#include "tools/session.h"

#include <algorithm>

#include "tools/open_sizes.h"
#include "tools/table.h"

namespace arbalest::tools {
namespace {

const std::map<std::string, LossKind> kLosses = {{"ce", LossKind::cross_entropy},
                                                 {"mse", LossKind::mean_squared_error},
                                                 {"bce", LossKind::binary_cross_entropy},
                                                 {"output", LossKind::output_mean}};

// The loss where the user leaves it open: what the model computes itself, else by the kind of labels.
LossKind choose_loss(const Graph& graph, const ModelArguments& arguments, const DataFacts& data) {
  if (arguments.loss != "auto") return kLosses.at(arguments.loss);
  const auto is_scalar = [&](const GraphOutput& o) {
    return is_float(graph.at(o.value).type.dtype) && graph.at(o.value).type.rank() == 0;
  };
  const GraphOutput* chosen = arguments.output.empty() ? nullptr : graph.find_output(arguments.output);
  if (chosen ? is_scalar(*chosen) : graph.outputs.size() == 1 && is_scalar(graph.outputs[0]))
    return LossKind::output_mean;
  return data.class_labels ? LossKind::cross_entropy : LossKind::mean_squared_error;
}

}  // namespace

void add_model_argument(CLI::App& command, ModelArguments& arguments) {
  command.add_option("model", arguments.path, "ONNX file")->required()->option_text("MODEL");
  command
      .add_option("--dim", arguments.dims,
                  "NAME=SIZE: the size of an axis that the file leaves open and names, such as the length of sequences")
      ->allow_extra_args(false);
}

void add_loss_options(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("--loss", arguments.loss,
                  "ce: cross-entropy of logits; mse; bce: binary cross-entropy of logits; output: the model computes "
                  "its loss;\n"
                  "auto: by the labels")
      ->check(CLI::IsMember({"auto", "ce", "mse", "bce", "output"}))
      ->capture_default_str();
  command.add_option("--output", arguments.output,
                     "model output that the loss is taken of (default: the only float output)");
}

void add_selection_options(CLI::App& command, ModelArguments& arguments) {
  command
      .add_option("--train", arguments.train,
                  "train only what matches: names of initializers or of nodes, with * and ?")
      ->allow_extra_args(false);
  command.add_option("--freeze", arguments.freeze, "keep what matches as it is")->allow_extra_args(false);
}

Bindings Session::batch(int64_t size) const {
  if (!batch_symbol().empty()) return {{batch_symbol(), size}};
  const auto fixed = fixed_batch();
  if (fixed && *fixed != size)
    throw Error(ErrorKind::usage,
                "--batch {}: the model fixes its batch to {}; use that, or export it with a free batch", size, *fixed);
  return {};
}

std::optional<int64_t> Session::fixed_batch() const {
  for (const GraphInput& input : training.graph.inputs) {
    const Shape& shape = training.graph.at(input.value).type.shape;
    if (input.role == InputRole::data && shape.rank() > 0 && shape[0].is_constant()) return shape[0].value();
  }
  return std::nullopt;
}

int64_t Session::classes() const {
  const Graph& graph = training.graph;
  for (const Node& node : graph.nodes) {
    const auto* loss = std::get_if<CrossEntropy>(&node.primitive);
    if (loss && node.outputs[0] == graph.loss) return graph.at(node.inputs[0]).type.shape.at(loss->axis).value();
  }
  throw Error(ErrorKind::internal, "the loss is not cross-entropy");
}

Session open_session(const ModelArguments& arguments, const DataFacts& data) {
  return open_session(load_model(arguments.path), arguments, data);
}

Session open_session(ModelPtr model, const ModelArguments& arguments, const DataFacts& data) {
  Session s;
  s.model = std::move(model);
  ImportOptions options;
  options.dropout = arguments.dropout;
  options.selection = {arguments.train, arguments.freeze};
  options.bindings = read_sizes(arguments.dims);
  s.training = import_with_data(*s.model, options, data);
  options.mode = ImportMode::inference;
  s.evaluation = import_with_data(*s.model, options, data);
  s.notices = s.training.notices;
  s.loss = choose_loss(s.training.graph, arguments, data);
  LossOptions loss;
  loss.kind = s.loss;
  loss.output = arguments.output;
  loss.class_axis = arguments.class_axis;
  const std::string notice = attach_loss(s.training.graph, loss);
  if (!notice.empty()) s.notices.push_back(notice);
  attach_loss(s.evaluation.graph, loss);
  return s;
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
