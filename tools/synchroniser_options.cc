#include "tools/synchroniser_options.h"

#include <fmt/format.h>

#include <map>

#include "tools/option_use.h"

namespace arbalest::tools {
namespace {

const std::map<std::string, SyncKind> kKinds = {{"none", SyncKind::none},     {"ssgd", SyncKind::ssgd},
                                                {"sma", SyncKind::sma},       {"easgd", SyncKind::easgd},
                                                {"local", SyncKind::local},   {"hierarchical", SyncKind::hierarchical},
                                                {"slowmo", SyncKind::slowmo}, {"diloco", SyncKind::diloco}};
const std::map<std::string, StatesAtSync> kStates = {
    {"keep", StatesAtSync::keep}, {"average", StatesAtSync::average}, {"clear", StatesAtSync::clear}};

// auto means sma, for a learner alone none: it takes the options of sma.
void check_options(const SynchroniserArguments& a) {
  check_used(
      {
          {"--alpha", a.alpha.has_value(), {"auto", "sma", "easgd"}},
          {"--central-momentum", a.central_momentum.has_value(), {"auto", "sma"}},
          {"--tau", !a.tau.empty(), {"auto", "sma", "easgd", "local", "hierarchical", "slowmo", "diloco"}},
          {"--global-every", a.global_every.has_value(), {"hierarchical"}},
          {"--outer-lr", a.outer_learning_rate.has_value(), {"slowmo", "diloco"}},
          {"--outer-momentum", a.outer_momentum.has_value(), {"slowmo", "diloco"}},
          {"--states-at-sync", !a.states.empty(), {"local", "hierarchical", "slowmo", "diloco"}},
      },
      "--sync", a.sync);
}

RestartParts restart_parts(const std::string& text) {
  RestartParts parts{false, false, false};
  if (text == "none") return parts;
  for (const std::string& part : CLI::detail::split(text, ',')) {
    if (part == "weights") {
      parts.weights = true;
    } else if (part == "centre") {
      parts.centre = true;
    } else if (part == "states") {
      parts.states = true;
    } else {
      throw Error(ErrorKind::usage, "--restart {}: '{}' is none of weights, centre, states", text, part);
    }
  }
  return parts;
}

std::string describe_states(StatesAtSync states) {
  return states == StatesAtSync::keep ? "" : states == StatesAtSync::average ? ", states averaged" : ", states cleared";
}

}  // namespace

void add_synchroniser_options(CLI::App& command, SynchroniserArguments& a) {
  command
      .add_option("--sync", a.sync,
                  "none: the first learner's model counts; ssgd: mean of the gradients; sma: synchronous model\n"
                  "averaging; easgd: elastic averaging; local: mean of the models every tau iterations;\n"
                  "hierarchical: often inside a device, rarely across; slowmo, diloco: a step with momentum towards\n"
                  "the mean of the models; auto: sma for several learners")
      ->check(CLI::IsMember({"auto", "none", "ssgd", "sma", "easgd", "local", "hierarchical", "slowmo", "diloco"}))
      ->capture_default_str();
  command.add_option(
      "--alpha", a.alpha,
      "sma, easgd: pull between a learner and the central model (default: 1 / learners, 0.9 / learners)");
  command.add_option("--central-momentum", a.central_momentum,
                     "sma: momentum of the central average model (default: 0.9)");
  command.add_option("--tau", a.tau,
                     "iterations between synchronisations; '1,2000:8': every one, from iteration 2000 on every 8th\n"
                     "(default: sma, easgd 1; hierarchical 4; local 8; slowmo 12; diloco 100)");
  command
      .add_option("--global-every", a.global_every,
                  "hierarchical: of so many synchronisations one is across devices (default: 4)")
      ->check(CLI::PositiveNumber);
  command.add_option("--outer-lr", a.outer_learning_rate, "slowmo, diloco: step towards the mean (default: 1 and 0.7)");
  command.add_option("--outer-momentum", a.outer_momentum,
                     "slowmo, diloco: momentum of these steps (default: 0.7 and 0.9)");
  command
      .add_option(
          "--states-at-sync", a.states,
          "local, hierarchical, slowmo, diloco: what synchronising does to the learners' momenta: keep, average\n"
          "or clear (default: slowmo clears, the others keep)")
      ->check(CLI::IsMember({"keep", "average", "clear"}));
  command.add_option("--restart", a.restart,
                     "at a step of the learning rate: weights: learners continue from the common model; centre: its\n"
                     "momentum is forgotten; states: those of the optimiser are cleared; none\n"
                     "(default: sma, easgd weights,centre,states; the others none)");
}

void set_synchroniser(TrainerOptions& o, const SynchroniserArguments& a) {
  check_options(a);
  o.sync = a.sync != "auto" ? kKinds.at(a.sync) : o.learners * o.devices > 1 ? SyncKind::sma : SyncKind::none;
  const bool restarts = o.sync == SyncKind::sma || o.sync == SyncKind::easgd;
  o.restart = restart_parts(!a.restart.empty() ? a.restart : restarts ? "weights,centre,states" : "none");
  o.sma.alpha = o.easgd.alpha = a.alpha;
  if (a.central_momentum) o.sma.central_momentum = *a.central_momentum;
  if (a.sync == "auto") sma_alpha(o.sma, 1);  // also where a learner alone will not need it
  if (!a.tau.empty()) {
    const TauSchedule tau = TauSchedule::parse(a.tau);
    o.sma.tau = o.easgd.tau = o.local.tau = o.hierarchical.tau = o.slowmo.tau = o.diloco.tau = tau;
  }
  if (a.global_every) o.hierarchical.global_every = *a.global_every;
  if (a.outer_learning_rate) o.slowmo.learning_rate = o.diloco.learning_rate = *a.outer_learning_rate;
  if (a.outer_momentum) o.slowmo.momentum = o.diloco.momentum = *a.outer_momentum;
  if (a.states.empty()) return;
  o.local.states = o.hierarchical.states = o.slowmo.states = o.diloco.states = kStates.at(a.states);
}

std::string describe_synchroniser(const TrainerOptions& o) {
  const auto k = static_cast<size_t>(o.learners * o.devices);
  const auto rarely = [](const TauSchedule& tau) {
    return tau.text() == "1" ? std::string() : fmt::format(", tau {}", tau.text());
  };
  switch (o.sync) {
    case SyncKind::none:
      return k > 1 ? "not synchronised" : "";
    case SyncKind::ssgd:
      return "S-SGD";
    case SyncKind::sma:
      return fmt::format("SMA alpha {:.3g}, central momentum {:.3g}{}", sma_alpha(o.sma, k), o.sma.central_momentum,
                         rarely(o.sma.tau));
    case SyncKind::easgd:
      return fmt::format("EA-SGD alpha {:.3g}{}", sma_alpha(as_sma(o.easgd, k), k), rarely(o.easgd.tau));
    case SyncKind::local:
      return fmt::format("local SGD, tau {}{}", o.local.tau.text(), describe_states(o.local.states));
    case SyncKind::hierarchical:
      return fmt::format("hierarchical local SGD, tau {}, every {} of them across devices{}", o.hierarchical.tau.text(),
                         o.hierarchical.global_every, describe_states(o.hierarchical.states));
    case SyncKind::slowmo:
      return fmt::format("SlowMo learning rate {:.3g}, momentum {:.3g}, tau {}{}", o.slowmo.learning_rate,
                         o.slowmo.momentum, o.slowmo.tau.text(), describe_states(o.slowmo.states));
    case SyncKind::diloco:
      return fmt::format("DiLoCo learning rate {:.3g}, momentum {:.3g}, tau {}{}", o.diloco.learning_rate,
                         o.diloco.momentum, o.diloco.tau.text(), describe_states(o.diloco.states));
  }
  return "";
}

}  // namespace arbalest::tools
