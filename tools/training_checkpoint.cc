// What of a training run a checkpoint keeps, and how a run goes on from one.
#include <fmt/format.h>

#include <set>

#include "tools/training_run.h"

namespace arbalest::tools {
namespace {

std::string layout_text(const ParameterLayout& layout) {
  std::string text;
  for (const ParameterSlot& slot : layout.slots())
    text += fmt::format("{}:{}+{};", slot.name, slot.offset, slot.bytes());
  return text;
}

// Numbers are written so that they come back exact.
nlohmann::json to_json(const Meter& m) { return {m.begin, m.iterations, m.seconds, m.loss_sum}; }
Meter meter(const nlohmann::json& j) { return {j.at(0), j.at(1), j.at(2), j.at(3)}; }

}  // namespace

std::optional<FoundCheckpoint> TrainingRun::find_checkpoint() {
  if (o_.resume) return checkpoints_->newest();
  if (checkpoints_ && !checkpoints_->empty())
    throw Error(
        ErrorKind::usage,
        "--checkpoint {}: holds the checkpoints of a run; --resume goes on with it, a new one needs a folder of "
        "its own",
        o_.checkpoints);
  return std::nullopt;
}

std::string TrainingRun::identity() const {
  const TrainingArguments& t = o_.training;
  return fmt::format("seed {}, {}, examples {}, normalised {}", t.seed, describe_training(t), data_.train.size(),
                     t.normalise);
}

bool TrainingRun::continues() const { return found_ && found_->checkpoint.fact("run") == identity(); }

int64_t TrainingRun::first_iteration() const {
  if (!found_) return 0;
  if (continues()) return std::stoll(found_->checkpoint.fact("iteration"));
  return std::stoll(found_->checkpoint.fact("examples")) / examples_of_step();
}

std::string TrainingRun::changed_options() const {
  using Options = std::map<std::string, std::string>;
  const Options before = nlohmann::json::parse(found_->checkpoint.fact("options")).get<Options>();
  const auto value = [](const Options& options, const std::string& name) {
    const auto at = options.find(name);
    return at == options.end() ? "left out" : at->second;
  };
  Options all = before;
  all.insert(o_.given.begin(), o_.given.end());
  std::string text;
  for (const auto& [name, unused] : all) {
    const std::string now = value(o_.given, name), then = value(before, name);
    if (now != then) text += fmt::format("{}{} {} (was {})", text.empty() ? "" : ", ", name, now, then);
  }
  return text;
}

// Every run from a checkpoint starts from its evaluated model; one that continues gets its learners' own later.
Session TrainingRun::opened_session() {
  Session session = open_session(o_.model, facts_of(data_.train));
  session.require_parameters();
  check_labels_fit(data_.train, session);
  check_labels_fit(data_.test, session);
  check_fills_a_batch(data_.test, session);
  if (!found_) return session;
  const std::string prefix = "model/";
  std::set<std::string> stored;
  for (const auto& [name, bytes] : found_->checkpoint.arrays)
    if (name.starts_with(prefix)) stored.insert(name.substr(prefix.size()));
  for (GraphInput& input : session.training.graph.inputs) {
    if (input.role != InputRole::parameter && input.role != InputRole::state) continue;
    HostTensor value(input.initial->dtype, input.initial->dims);
    const std::vector<NamedBytes> place{{input.name, std::span(value.bytes)}};
    if (!found_->checkpoint.fits(prefix, place))
      throw Error(ErrorKind::usage,
                  "{}: has no parameter '{}' of this size; it belongs to another model, or to other "
                  "--train and --freeze",
                  found_->path, input.name);
    found_->checkpoint.copy_to(prefix, place);
    input.initial = std::make_shared<const HostTensor>(std::move(value));
    stored.erase(input.name);
  }
  if (!stored.empty())
    throw Error(ErrorKind::usage, "{}: trained '{}' too, which would be lost; give the same --train and --freeze",
                found_->path, *stored.begin());
  return session;
}

void TrainingRun::write_checkpoint() {
  const auto begin = Clock::now();
  last_checkpoint_ = iterations_;
  Checkpoint c;
  const Schedule::State& s = schedule_.state();
  const RunTimes t = times();
  nlohmann::json progress = {{"seconds", {t.training, t.evaluation, t.checkpoints, t.wall}},
                             {"part", to_json(part_)},
                             {"message", to_json(progress_)},
                             {"schedule", {s.factor, s.best, s.waited, s.observed}},
                             {"records", nlohmann::json::array()}};
  for (const EpochRecord& record : report_.records()) progress["records"].push_back(to_json(record));
  if (best_) progress["best"] = to_json(*best_);
  c.facts = {{"run", identity()},
             {"options", nlohmann::json(o_.given).dump()},
             {"average", describe_averaging(o_.averaging)},
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
  checkpoints_->write(std::move(c), iterations_ * examples_of_step());
  times_.checkpoints += std::chrono::duration<double>(Clock::now() - begin).count();
}

// With other learners: all but what they had of their own.
void TrainingRun::restore() {
  iterations_ = part_.begin = progress_.begin = first_iteration();
  std::erase_if(restarts_, [this](int64_t at) { return at <= iterations_; });
  const Checkpoint& c = found_->checkpoint;
  const bool same_layout = c.fact("layout") == layout_text(*trainer_.plan().parameters());
  const auto take = [&c](const char* prefix, const std::vector<NamedBytes>& arrays) {
    const bool fits = c.fits(prefix, arrays);
    if (fits) c.copy_to(prefix, arrays);
    return fits;
  };
  continued_ = continues() && same_layout && take("run/", trainer_.arrays());
  average_lost_ = average_ && !(same_layout && c.fact("average") == describe_averaging(o_.averaging) &&
                                take("average/", average_->arrays()));
  restore_progress(nlohmann::json::parse(found_->checkpoint.fact("progress")));
  found_->checkpoint.arrays.clear();
}

void TrainingRun::restore_progress(const nlohmann::json& progress) {
  const nlohmann::json& seconds = progress.at("seconds");
  times_ = {seconds.at(0), seconds.at(1), seconds.at(2), seconds.at(3)};
  if (continued_) {
    part_ = meter(progress.at("part"));
    progress_ = meter(progress.at("message"));
  }
  const nlohmann::json& s = progress.at("schedule");
  schedule_.set_state({s.at(0), s.at(1), s.at(2), s.at(3)});
  std::vector<EpochRecord> records;
  for (const nlohmann::json& record : progress.at("records")) records.push_back(epoch_record(record));
  report_.resume(std::move(records), std::stoll(found_->checkpoint.fact("iteration")));
  if (progress.contains("best")) restore_best(progress["best"]);
}

void TrainingRun::restore_best(const nlohmann::json& record) {
  const Checkpoint& c = found_->checkpoint;
  best_ = epoch_record(record);
  const auto confusion = c.arrays.find("confusion");
  if (confusion != c.arrays.end()) {
    confusion_.resize(confusion->second.size() / sizeof(int64_t));
    c.copy_to("", {named_bytes("confusion", std::span(confusion_))});
  }
  if (!o_.keep_best) return;
  best_tensors_ = trainer_.trained();
  std::vector<NamedBytes> places;
  for (auto& [name, tensor] : best_tensors_) places.push_back({name, std::span(tensor.bytes)});
  if (!c.fits("best/", places))
    throw Error(ErrorKind::usage, "--keep-best: the run of {} did not keep its best model", found_->path);
  c.copy_to("best/", places);
}

}  // namespace arbalest::tools
