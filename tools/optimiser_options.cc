#include "tools/optimiser_options.h"

#include <algorithm>

#include "onnx_import/glob.h"
#include "tools/key_value.h"
#include "tools/option_use.h"

namespace arbalest::tools {
namespace {

constexpr const char* kGlobNumber = "GLOB=NUMBER, for example 'head.*=0.1'";

template <class Set>
void for_matches(const std::vector<ParameterReport>& parameters, const std::string& glob, const char* option,
                 const Set& set) {
  bool matched = false;
  for (const ParameterReport& p : parameters) {
    if (!p.trains || !glob_matches(glob, p.name)) continue;
    matched = true;
    set(p.name);
  }
  if (!matched) throw Error(ErrorKind::usage, "{} '{}': matches no parameter that trains", option, glob);
}

void check_optimiser(const OptimiserArguments& a) {
  check_used(
      {
          {"--dampening", a.dampening.has_value(), {"sgd"}},
          {"--beta1", a.options.beta1.has_value(), {"adam", "adam-onnx", "adamw", "lamb", "lion"}},
          {"--beta2", a.options.beta2.has_value(), {"adam", "adam-onnx", "adamw", "rmsprop", "lamb", "lion"}},
          {"--epsilon", a.options.epsilon.has_value(), {"adam", "adam-onnx", "adamw", "adagrad", "rmsprop", "lamb"}},
          {"--trust", a.trust.has_value(), {"lars"}},
      },
      "--optimiser", a.kind);
}

void check_schedule(const OptimiserArguments& a) {
  check_used(
      {
          {"--gamma", a.gamma.has_value(), {"step", "multi-step", "exponential", "plateau"}},
          {"--step", a.step.has_value(), {"step"}},
          {"--milestones", !a.milestones.empty(), {"multi-step"}},
          {"--lr-floor", a.floor.has_value(), {"cosine", "linear", "plateau"}},
          {"--patience", a.patience.has_value(), {"plateau"}},
      },
      "--schedule", a.schedule_kind);
}

// A scale or offset: also those of a normalisation that was exported as primitive operators, whatever axes of one
// element they have; the weight of a layer with one output is none.
bool is_scale_or_bias(const ParameterReport& p) {
  if (p.use == TensorUse::bias || p.use == TensorUse::norm_scale || p.use == TensorUse::norm_bias) return true;
  const Dims dims = p.type.dims();
  if (p.use == TensorUse::weight || p.use == TensorUse::embedding) return dims.size() <= 1;
  return std::count_if(dims.begin(), dims.end(), [](int64_t d) { return d > 1; }) <= 1;
}

}  // namespace

void add_optimiser_options(CLI::App& command, OptimiserArguments& a) {
  command.add_option("--optimiser,--optimizer", a.kind, "how weights follow gradients")
      ->check(CLI::IsMember(optimiser_names()))
      ->capture_default_str();
  command
      .add_option("--lr", a.learning_rate,
                  "learning rate (default: 0.01; adam, adamw, rmsprop, lamb: 0.001; lion: 0.0001)")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--momentum", a.momentum, "momentum of each learner (default: sgd, lars 0.9; others 0)");
  command.add_option("--dampening", a.dampening, "sgd: dampening of the momentum (default: 0)");
  command.add_flag("--nesterov", a.options.nesterov, "sgd: Nesterov momentum");
  command.add_option("--beta1", a.options.beta1, "adam, adamw, lamb, lion: decay of the first moment (default: 0.9)");
  command.add_option("--beta2", a.options.beta2, "decay of the second moment (default: 0.999; lion, rmsprop: 0.99)");
  command.add_option("--epsilon", a.options.epsilon,
                     "added to the denominator (default: 1e-8; adam-onnx, lamb: 1e-6; adagrad: 1e-10)");
  command.add_option("--trust", a.trust, "lars: trust coefficient (default: 0.001)");
  command
      .add_option("--weight-decay", a.options.weight_decay,
                  "L2 penalty added to the gradient; adamw, lamb, lion: decoupled")
      ->capture_default_str();
  command.add_flag("--decay-weights-only", a.decay_weights_only,
                   "no weight decay of biases, scales and offsets of normalisations, and other vectors");
  command
      .add_option("--lr-of", a.rates,
                  "GLOB=FACTOR: factor of the learning rate for matching parameters; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--weight-decay-of", a.decays, "GLOB=VALUE: weight decay of matching parameters; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--clip-norm", a.options.clip_norm, "scale gradients down to this norm over all parameters");
  command.add_option("--clip-value", a.options.clip_value, "cut every element of the gradients to [-VALUE, VALUE]");
  command.add_option("--accumulate", a.accumulate, "batches of a learner whose mean gradient makes one step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
}

void add_schedule_options(CLI::App& command, OptimiserArguments& a) {
  command.add_option("--schedule", a.schedule_kind, "of the learning rate")
      ->check(CLI::IsMember(schedule_names()))
      ->capture_default_str();
  command.add_option("--gamma", a.gamma, "step, multi-step, exponential, plateau: factor of each fall (default: 0.1)");
  command.add_option("--step", a.step, "step: epochs between falls (default: 10)");
  command.add_option("--milestones", a.milestones, "multi-step: epochs of the falls, for example 10,15")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--warmup", a.warmup, "epochs in which the rate rises linearly at first, from a tenth of --lr")
      ->capture_default_str();
  command.add_option("--lr-floor", a.floor, "cosine, linear, plateau: least rate, as part of --lr (default: 0)");
  command.add_option("--patience", a.patience, "plateau: evaluations without progress before a fall (default: 2)");
}

OptimiserOptions optimiser_options(const OptimiserArguments& a) {
  check_optimiser(a);
  OptimiserOptions o = a.options;
  o.kind = optimiser_by_name(a.kind);
  o.dampening = a.dampening.value_or(o.dampening);
  o.trust = a.trust.value_or(o.trust);
  const bool momentum = o.kind == OptimiserKind::sgd || o.kind == OptimiserKind::lars;
  o.momentum = a.momentum.value_or(momentum ? 0.9 : 0);
  return o;
}

double learning_rate(const OptimiserArguments& a) {
  if (a.learning_rate) return *a.learning_rate;
  switch (optimiser_by_name(a.kind)) {
    case OptimiserKind::sgd:
    case OptimiserKind::lars:
    case OptimiserKind::adagrad:
      return 0.01;
    case OptimiserKind::lion:
      return 0.0001;
    default:
      return 0.001;
  }
}

ScheduleOptions schedule_options(const OptimiserArguments& a) {
  check_schedule(a);
  ScheduleOptions o;
  o.kind = schedule_by_name(a.schedule_kind);
  o.gamma = a.gamma.value_or(o.gamma);
  o.step = a.step.value_or(o.step);
  o.floor = a.floor.value_or(o.floor);
  o.patience = a.patience.value_or(o.patience);
  o.milestones = a.milestones;
  o.warmup = a.warmup;
  return o;
}

std::map<std::string, ParameterSetting> parameter_settings(const OptimiserArguments& a,
                                                           const std::vector<ParameterReport>& parameters) {
  std::map<std::string, ParameterSetting> settings;
  if (a.decay_weights_only)
    for (const ParameterReport& p : parameters)
      if (p.trains && is_scale_or_bias(p)) settings[p.name].weight_decay = 0;
  for (const std::string& text : a.rates) {
    const auto [glob, factor] = key_and_number(text, "--lr-of", kGlobNumber);
    for_matches(parameters, glob, "--lr-of",
                [&settings, rate = factor](const std::string& name) { settings[name].rate = rate; });
  }
  for (const std::string& text : a.decays) {
    const auto [glob, decay] = key_and_number(text, "--weight-decay-of", kGlobNumber);
    for_matches(parameters, glob, "--weight-decay-of",
                [&settings, value = decay](const std::string& name) { settings[name].weight_decay = value; });
  }
  return settings;
}

}  // namespace arbalest::tools
