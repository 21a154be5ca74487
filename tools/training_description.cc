// What a training run says of itself: before it begins, and on the line that lives while it goes on.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "tools/machine.h"
#include "tools/table.h"
#include "tools/training_run.h"

namespace arbalest::tools {

void TrainingRun::describe() const {
  const ModelFacts f = facts(*session_.model);
  double trained = 0;
  int64_t tensors = 0, kept = 0;
  for (const ParameterReport& p : session_.training.parameters) {
    if (p.trains) trained += static_cast<double>(element_count(p.type.dims()));
    ++(p.trains ? tensors : kept);
  }
  fmt::print("{:<12}  {}{}opset {}, {} nodes; {} parameters in {} tensors train, {} other tensors do not\n",
             std::filesystem::path(o_.model.path).filename().string(), f.producer, f.producer.empty() ? "" : ", ",
             f.opset, f.nodes, short_count(trained), tensors, kept);
  std::vector<std::string> notices = session_.notices;
  for (std::string& n : gradient_notices(session_, session_.batch(o_.training.batch))) notices.push_back(std::move(n));
  for (const std::string& notice : notices) fmt::print("{:<12}  {}\n", "note", notice);
  fmt::print("{:<12}  {}{}\n", "data", arbalest::describe(data_), describe_normalisation(normalisation_));
  fmt::print("{:<12}  {}; {}\n", "machine", machine_text(), describe_training(o_.training));
  if (const std::string text = describe_tuning(tuning_); !text.empty()) fmt::print("{:<12}  {}\n", "tuner", text);
  if (average_) fmt::print("{:<12}  {}\n", "average", describe_averaging(o_.averaging));
  if (const double epochs = evaluation_interval().epochs; !o_.evaluate_every && epochs > 1)
    fmt::print("{:<12}  the test loss {}, to spend under 3 % of the time on it (--evaluate-every 1: each)\n", "note",
               epochs < static_cast<double>(o_.epochs) ? fmt::format("every {} epochs", epochs) : "only at the end");
  if (const int64_t batch = session_.fixed_batch().value_or(1); data_.test.size() % batch > 0)
    fmt::print("{:<12}  {} of the test examples do not fill a batch of {}, which the model fixes: they are left out\n",
               "note", data_.test.size() % batch, batch);
  if (o_.resume && !found_) fmt::print("{:<12}  no checkpoint in {} yet: starting anew\n", "note", o_.checkpoints);
  if (!found_) return;
  for (const std::string& fault : found_->damaged) fmt::print("{:<12}  {}; using the one before\n", "note", fault);
  fmt::print("{:<12}  {} {}, at iteration {}\n", "resume", continued_ ? "continues" : "starts from the model of",
             found_->path, iterations_);
  if (!continued_)
    fmt::print("{:<12}  {}; what the learners had of their own is not used\n", "note",
               continues() ? "its arrays are laid out for another processor, version or optimiser"
                           : "it is of a run with other learners, batch, optimiser or data");
  if (average_lost_) fmt::print("{:<12}  the average of the model begins anew\n", "note");
  if (const std::string changed = changed_options(); !changed.empty())
    fmt::print("{:<12}  other options than the checkpoint's: {}\n", "note", changed);
}

nlohmann::json TrainingRun::start_facts() const {
  nlohmann::json facts = {{"event", "start"},
                          {"model", o_.model.path},
                          {"data", o_.data},
                          {"learners", o_.training.learners},
                          {"threads_per_learner", o_.training.threads},
                          {"batch", o_.training.batch},
                          {"devices", o_.training.devices},
                          {"sync", o_.training.synchroniser.sync},
                          {"seed", o_.training.seed},
                          {"optimiser", o_.training.optimiser.kind},
                          {"learning_rate", learning_rate(o_.training.optimiser)},
                          {"momentum", optimiser_options(o_.training.optimiser).momentum},
                          {"schedule", o_.training.optimiser.schedule_kind},
                          {"iteration", iterations_}};
  if (average_) facts["average"] = describe_averaging(o_.averaging);
  return facts;
}

void TrainingRun::show(double epoch) {
  const int64_t last = iterations_until(epoch), total = iterations_until(static_cast<double>(o_.epochs));
  const double fraction = static_cast<double>(iterations_ - part_.begin) / static_cast<double>(last - part_.begin);
  const double rate = part_.iterations_per_second();
  report_.line().show(fmt::format("epoch {:g}/{}  {} {:3.0f} %  loss {:.4f}  {} images/s  {} left", epoch, o_.epochs,
                                  progress_bar(fraction, 28), fraction * 100, part_.loss(),
                                  with_thousands(std::llround(rate * static_cast<double>(examples_of_step()))),
                                  duration(static_cast<double>(total - iterations_) / rate)));
}

}  // namespace arbalest::tools
