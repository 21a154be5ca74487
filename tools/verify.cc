// arbalest verify: does the program compute what a reference computed?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "exec/optimiser/optimiser.h"
#include "exec/replica.h"
#include "sync/learner_memory.h"
#include "tools/command.h"
#include "tools/open_sizes.h"
#include "tools/session.h"
#include "tools/table.h"
#include "tools/test_data.h"

namespace arbalest::tools {
namespace {

struct Options {
  ModelArguments model;
  std::string expected;
  std::vector<std::string> test_data;
  int threads = 1;
};

using Tensors = std::map<std::string, HostTensor>;

// The greatest error of one quantity, by the measure of the golden models: max |got - want| / (max |want| + floor).
class Comparison {
 public:
  Comparison(std::string quantity, double tolerance) : quantity_(std::move(quantity)), tolerance_(tolerance) {}

  void set_floor(double floor) { floor_ = floor; }
  void add(const std::string& name, const HostTensor& got, const HostTensor& want);
  void fail(const std::string& name, const std::string& why) { failures_.push_back(name + ": " + why); }
  bool passes() const { return failures_.empty() && worst_ <= tolerance_; }
  void report(Table& table, std::vector<std::string>& messages) const;

 private:
  std::string quantity_;
  double tolerance_, floor_ = 0, worst_ = 0;
  std::string worst_name_;
  int count_ = 0;
  std::vector<std::string> failures_;
};

double largest(const HostTensor& t) {
  const HostTensor wide = t.to(DataType::f64);
  double m = 0;
  for (double v : wide.as<double>()) m = std::max(m, std::abs(v));
  return m;
}

void Comparison::add(const std::string& name, const HostTensor& got, const HostTensor& want) {
  ++count_;
  if (got.dims != want.dims)
    return fail(name, fmt::format("got {}, expected {}", to_string(got.dims), to_string(want.dims)));
  const HostTensor a = got.to(DataType::f64), b = want.to(DataType::f64);
  double difference = 0;
  for (size_t i = 0; i < b.as<double>().size(); ++i) {
    const double x = a.as<double>()[i], y = b.as<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    difference = std::max(difference, std::isfinite(x) && std::isfinite(y) ? std::abs(x - y) : INFINITY);
  }
  const double scale = largest(want) + floor_;
  const double error = difference == 0 ? 0 : difference / std::max(scale, 1e-30);
  if (error >= worst_ && (error > worst_ || worst_name_.empty())) worst_ = error, worst_name_ = name;
}

void Comparison::report(Table& table, std::vector<std::string>& messages) const {
  table.add({quantity_, std::to_string(count_), fmt::format("{:.1e}", worst_), fmt::format("{:.1e}", tolerance_),
             passes() ? "ok" : "FAILS", worst_name_});
  for (const std::string& f : failures_) messages.push_back(quantity_ + " " + f);
}

int finish(const std::vector<const Comparison*>& comparisons) {
  Table table({"quantity", ">tensors", ">error", ">tolerance", "", "worst"});
  std::vector<std::string> messages;
  bool good = true;
  for (const Comparison* c : comparisons) {
    c->report(table, messages);
    good &= c->passes();
  }
  fmt::print("{}", table.text());
  for (const std::string& m : messages) fmt::print("{}\n", m);
  return good ? 0 : 1;
}

// The tensors whose name begins with `prefix`, by the rest of the name.
Tensors with_prefix(const Tensors& all, const std::string& prefix) {
  Tensors some;
  for (const auto& [name, value] : all)
    if (name.starts_with(prefix)) some.emplace(name.substr(prefix.size()), value);
  return some;
}

double floor_of(const Tensors& tensors) {
  double m = 0;
  for (const auto& [name, value] : tensors) m = std::max(m, largest(value));
  return 0.01 * m;
}

HostTensor scalar(double v) {
  const float f = static_cast<float>(v);
  return HostTensor::f32({}, {&f, 1});
}

// A learner without a synchroniser: regions, replica and plain SGD.
struct SingleLearner {
  std::shared_ptr<const Plan> plan;
  AlignedBytes parameters, gradients, momentum, states;
  std::unique_ptr<Replica> replica;

  SingleLearner(std::shared_ptr<const Plan> p, const Graph& graph)
      : plan(std::move(p)),
        parameters(plan->parameters()->bytes()),
        gradients(parameters.size()),
        momentum(parameters.size()),
        states(plan->states()->bytes()) {
    write_initial_values(graph, *plan, parameters.data(), states.data(), cpu::kernel_set());
    replica = std::make_unique<Replica>(plan, ReplicaRegions{parameters.data(), gradients.data(), states.data()});
  }

  HostTensor read(const std::string& name, const AlignedBytes& of_parameters) const {
    if (const ParameterSlot* slot = plan->parameters()->find(name))
      return read_slot(*slot, of_parameters.data(), cpu::kernel_set());
    const ParameterSlot* slot = plan->states()->find(name);
    return slot ? read_slot(*slot, states.data(), cpu::kernel_set()) : HostTensor();
  }
};

struct Reference {
  Tensors tensors;
  nlohmann::json meta;
};

Reference read_reference(const std::string& path) {
  const ModelPtr file = load_model(path);
  Reference r{read_initializers(*file), nlohmann::json::object()};
  const nlohmann::json meta = nlohmann::json::parse(facts(*file).doc_string, nullptr, false);
  if (meta.is_object()) r.meta = meta;
  return r;
}

// The README of the golden models: the larger of a base and 20 times what float32 runs of the reference were off.
double tolerance(const Reference& r, const std::string& quantity, double base) {
  const auto errors = r.meta.find("float32_error");
  if (errors == r.meta.end() || !errors->contains(quantity)) return base;
  return std::max(base, 20 * errors->at(quantity).get<double>());
}

int verify_expected(const Options& o) {
  const Reference reference = read_reference(o.expected);
  const nlohmann::json& meta = reference.meta;
  ModelArguments arguments = o.model;
  if (arguments.loss == "auto") arguments.loss = meta.value("loss", "auto");
  if (arguments.output.empty()) arguments.output = meta.value("target", "");
  if (meta.contains("class_axis") && meta["class_axis"].is_number())
    arguments.class_axis = meta["class_axis"].get<int>();
  const Tensors feeds = with_prefix(reference.tensors, "feed/");
  DataFacts data;
  int64_t batch = 0;
  for (const auto& [name, value] : feeds) {
    if (value.dims.empty()) continue;
    data.samples[name] = Dims(value.dims.begin() + 1, value.dims.end());
    data.examples[name] = batch = value.dims[0];
  }
  const Session session = open_session(arguments, data);
  batch = size_of(session.training.graph, session.batch_symbol(), feeds).value_or(batch);
  CompileOptions compile_options;
  compile_options.threads = o.threads;
  const auto plan = compile(session.training.graph, session.batch(batch), cpu::kernel_set(), compile_options);
  SingleLearner learner(plan, session.training.graph);
  for (const auto& [name, value] : feeds)
    if (plan->find_feed(name)) learner.replica->feed(name, value);
  if (reference.tensors.contains("label")) {
    const PlanTensor* label = plan->label();
    if (!label) throw Error(ErrorKind::usage, "{}: holds a label, but the loss takes none", o.expected);
    const HostTensor value = reference.tensors.at("label").to(label->type.dtype);
    if (value.bytes.size() != label->bytes)
      throw Error(ErrorKind::usage, "{}: the label has {} elements, the loss takes {}", o.expected,
                  element_count(value.dims), element_count(label->type.dims()));
    learner.replica->feed(*label, value.bytes.data());
  }

  Comparison outputs("output", tolerance(reference, "output", 1e-5)), loss("loss", tolerance(reference, "loss", 1e-5)),
      gradients("grad", tolerance(reference, "grad", 1e-4)), losses("losses", tolerance(reference, "losses", 1e-5)),
      after("after", tolerance(reference, "after", 2e-4));
  const Tensors want_outputs = with_prefix(reference.tensors, "output/"),
                want_gradients = with_prefix(reference.tensors, "grad/"),
                want_after = with_prefix(reference.tensors, "after/");
  outputs.set_floor(floor_of(want_outputs));
  gradients.set_floor(floor_of(want_gradients));
  after.set_floor(floor_of(want_after));

  OptimiserOptions sgd_options;
  sgd_options.momentum = meta.value("momentum", 0.0);
  const Optimiser sgd(sgd_options, {});
  const UpdateStep update{.learning_rate = meta.value("lr", 0.01)};
  const UpdateArrays<float> arrays{reinterpret_cast<float*>(learner.parameters.data()),
                                   reinterpret_cast<float*>(learner.gradients.data()),
                                   {reinterpret_cast<float*>(learner.momentum.data())}};
  const HostTensor want_losses = reference.tensors.at("losses").to_f32();
  HostTensor got_losses(DataType::f32, want_losses.dims);
  for (size_t step = 0; step < got_losses.as<float>().size(); ++step) {
    learner.replica->run();
    got_losses.as<float>()[step] = static_cast<float>(learner.replica->loss());
    if (step == 0) {
      loss.add("loss", scalar(learner.replica->loss()), reference.tensors.at("loss"));
      for (const auto& [name, want] : want_outputs) {
        const PlanTensor* output = plan->find_output(name);
        output ? outputs.add(name, learner.replica->read(*output), want)
               : outputs.fail(name, "the model has no such output");
      }
      for (const auto& [name, want] : want_gradients) gradients.add(name, learner.read(name, learner.gradients), want);
      for (const ParameterSlot& slot : plan->parameters()->slots())
        if (!want_gradients.contains(slot.name)) gradients.fail(slot.name, "trains here, but not in the reference");
    }
    sgd.update(arrays, update, 0, static_cast<int64_t>(learner.parameters.size() / sizeof(float)));
  }
  losses.add("losses", got_losses, want_losses);
  for (const auto& [name, want] : want_after) after.add(name, learner.read(name, learner.parameters), want);
  return finish({&outputs, &loss, &gradients, &losses, &after});
}

int run(const Options& o) {
  if (o.expected.empty() == o.test_data.empty())
    throw Error(ErrorKind::usage, "verify: give either --expected FILE.onnx or --test-data DIR");
  return o.expected.empty() ? verify_test_data(o.model.path, o.test_data, o.threads) : verify_expected(o);
}

}  // namespace

Run add_verify(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("verify", "compare outputs, gradients, losses and trained weights with a reference");
  add_model_argument(*command, o->model);
  add_loss_options(*command, o->model);
  command->add_option(
      "--expected", o->expected,
      "a model whose initializers are feed/INPUT, label, output/OUTPUT, loss, grad/NAME, losses, after/NAME");
  command->add_option("--test-data", o->test_data, "folders with input_N.pb and output_N.pb, as ONNX's own tests have")
      ->option_text("DIR ...");
  command->add_option("--threads-per-learner", o->threads, "threads of the plan")->check(CLI::PositiveNumber);
  command->footer(
      "Prints the greatest error of each quantity; exits with 1 where one is beyond its tolerance.\nExamples:\n"
      "  arbalest verify model.onnx --expected expected.onnx\n  arbalest verify model.onnx --test-data "
      "test_data_set_0");
  return [o] { return run(*o); };
}

}  // namespace arbalest::tools
