// What of a training run a checkpoint keeps, and how a run goes on from one.
#include <fmt/format.h>

#include "tools/training_run.h"

namespace arbalest::tools {
namespace {

std::string layout_text(const ParameterLayout& layout) {
  std::string text;
  for (const ParameterSlot& slot : layout.slots())
    text += fmt::format("{}:{}+{};", slot.name, slot.offset, slot.bytes());
  return text;
}

}  // namespace

std::optional<FoundCheckpoint> TrainingRun::find_checkpoint() {
  if (!o_.resume) return std::nullopt;
  if (!checkpoints_) throw Error(ErrorKind::usage, "--resume: needs --checkpoint DIR, the folder to go on from");
  return checkpoints_->newest();
}

std::string TrainingRun::identity() const {
  const TrainingArguments& t = o_.training;
  std::string text = fmt::format("seed {}, {}, examples {}, normalised {}", t.seed, describe_training(t),
                                 data_.train.size(), t.normalise);
  if (o_.averaging.on()) text += ", average " + describe_averaging(o_.averaging);
  return text;
}

bool TrainingRun::continues() const { return found_ && found_->checkpoint.fact("run") == identity(); }

int64_t TrainingRun::first_iteration() const {
  if (!found_) return 0;
  if (continues()) return std::stoll(found_->checkpoint.fact("iteration"));
  return std::stoll(found_->checkpoint.fact("examples")) / examples_of_step();
}

// With other learners than the checkpoint's the run starts from its evaluated model.
Session TrainingRun::opened_session() {
  Session session = open_session(o_.model, facts_of(data_.train));
  session.require_parameters();
  check_labels_fit(data_.train, session);
  check_labels_fit(data_.test, session);
  if (!found_) return session;
  for (GraphInput& input : session.training.graph.inputs) {
    if (input.role != InputRole::parameter && input.role != InputRole::state) continue;
    HostTensor value(input.initial->dtype, input.initial->dims);
    const std::vector<NamedBytes> place{{input.name, std::span(value.bytes)}};
    if (!found_->checkpoint.fits("model/", place))
      throw Error(ErrorKind::usage, "{}: has no parameter '{}' of this size; it belongs to another model", found_->path,
                  input.name);
    found_->checkpoint.copy_to("model/", place);
    input.initial = std::make_shared<const HostTensor>(std::move(value));
  }
  return session;
}

void TrainingRun::write_checkpoint() {
  const auto begin = Clock::now();
  last_checkpoint_ = iterations_;
  Checkpoint c;
  const Schedule::State& s = schedule_.state();
  const RunTimes t = times();
  nlohmann::json progress = {// numbers are written so that they come back exact
                             {"seconds", {t.training, t.evaluation, t.checkpoints, t.wall}},
                             {"part", {part_.begin, part_.iterations, part_.seconds, part_.loss_sum}},
                             {"schedule", {s.factor, s.best, s.waited, s.observed}},
                             {"records", nlohmann::json::array()}};
  for (const EpochRecord& record : report_.records()) progress["records"].push_back(to_json(record));
  if (best_) progress["best"] = to_json(*best_);
  c.facts = {{"run", identity()},
             {"learners", std::to_string(o_.training.learners)},
             {"threads per learner", std::to_string(o_.training.threads)},
             {"layout", layout_text(*trainer_.plan().parameters())},
             {"iteration", std::to_string(iterations_)},
             {"examples", std::to_string(iterations_ * examples_of_step())},
             {"progress", progress.dump()}};
  c.add("run/", trainer_.arrays());
  if (average_) c.add("average/", average_->arrays());
  c.add("", {named_bytes("confusion", std::span(confusion_))});
  for (auto& [name, tensor] : trainer_.trained()) c.arrays["model/" + name] = tensor.bytes;
  for (const auto& [name, tensor] : best_tensors_) c.arrays["best/" + name] = tensor.bytes;
  checkpoints_->write(std::move(c), iterations_);
  times_.checkpoints += std::chrono::duration<double>(Clock::now() - begin).count();
}

void TrainingRun::restore() {
  const Checkpoint& c = found_->checkpoint;
  iterations_ = part_.begin = progress_.begin = first_iteration();
  std::erase_if(restarts_, [this](int64_t at) { return at <= iterations_; });
  if (!continues()) return;
  const std::vector<NamedBytes> arrays = trainer_.arrays();
  const std::vector<NamedBytes> average = average_ ? average_->arrays() : std::vector<NamedBytes>();
  if (c.fact("layout") != layout_text(*trainer_.plan().parameters()) || !c.fits("run/", arrays) ||
      !c.fits("average/", average))
    throw Error(ErrorKind::usage,
                "{}: its arrays are laid out for another processor or version; another --seed starts from its model",
                found_->path);
  c.copy_to("run/", arrays);
  c.copy_to("average/", average);
  const nlohmann::json progress = nlohmann::json::parse(c.fact("progress"));
  const nlohmann::json& seconds = progress.at("seconds");
  times_ = {seconds.at(0), seconds.at(1), seconds.at(2), seconds.at(3)};
  const nlohmann::json& part = progress.at("part");
  part_ = {part.at(0), part.at(1), part.at(2), part.at(3)};
  const nlohmann::json& s = progress.at("schedule");
  schedule_.set_state({s.at(0), s.at(1), s.at(2), s.at(3)});
  std::vector<EpochRecord> records;
  for (const nlohmann::json& record : progress.at("records")) records.push_back(epoch_record(record));
  report_.set_records(std::move(records));
  if (progress.contains("best")) restore_best(progress["best"]);
}

void TrainingRun::restore_best(const nlohmann::json& record) {
  const Checkpoint& c = found_->checkpoint;
  best_ = epoch_record(record);
  if (!o_.keep_best) return;
  best_tensors_ = trainer_.trained();
  std::vector<NamedBytes> places;
  for (auto& [name, tensor] : best_tensors_) places.push_back({name, std::span(tensor.bytes)});
  if (!c.fits("best/", places))
    throw Error(ErrorKind::usage, "--keep-best: the run of {} did not keep it", found_->path);
  c.copy_to("best/", places);
  const auto confusion = c.arrays.find("confusion");
  if (confusion == c.arrays.end()) return;
  confusion_.resize(confusion->second.size() / sizeof(int64_t));
  c.copy_to("", {named_bytes("confusion", std::span(confusion_))});
}

}  // namespace arbalest::tools
