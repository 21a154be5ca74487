#include "tools/training_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/atomic_file.h"
#include "tools/curves.h"

namespace arbalest::tools {

void add_report_options(CLI::App& command, ReportArguments& a) {
  add_class_options(command, a.classes);
  command.add_option("--log", a.log,
                     "write one JSON object a line: start, the tuner's decisions, progress inside epochs, each "
                     "evaluation, end with the times");
  command.add_option("--tensorboard", a.tensorboard, "folder for TensorBoard: write losses, accuracy and rates there");
  command.add_option("--curves", a.curves, "write loss and accuracy over the epochs as an SVG image, after each");
  command
      .add_option("--log-every", a.log_every, "epochs between messages of progress in --log and --tensorboard; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

TrainingReport::TrainingReport(const ReportArguments& arguments, std::string title, bool resumed, int64_t resumed_at)
    : arguments_(arguments), title_(std::move(title)), log_(arguments.log, resumed) {
  if (!arguments.tensorboard.empty()) events_ = std::make_unique<EventFile>(arguments.tensorboard, resumed_at);
}

void TrainingReport::resume(std::vector<EpochRecord> records, int64_t iterations) {
  records_ = std::move(records);
  const double seen = records_.empty() ? 0 : records_.back().epoch;
  log_.keep_if([seen, iterations](const nlohmann::json& event) {
    const std::string kind = event.at("event");
    if (kind == "progress" || kind == "start") return event.at("iteration") <= iterations;
    if (kind == "epoch") return event.at("epoch") <= seen;
    return kind != "end" || event.at("iterations") <= iterations;
  });
}

void TrainingReport::start(const nlohmann::json& facts, const std::vector<nlohmann::json>& choice) {
  log_.write(facts);
  for (const nlohmann::json& decision : choice) log_.write(decision);
}

void TrainingReport::progress(const Progress& p) {
  log_.write({{"event", "progress"},
              {"iteration", p.iteration},
              {"epoch", p.epoch},
              {"loss", p.loss},
              {"learning_rate", p.learning_rate},
              {"images_per_second", p.images_per_second}});
  if (events_) events_->write(p.iteration, {{"loss/progress", p.loss}, {"learning_rate", p.learning_rate}});
}

void TrainingReport::evaluated(const EpochRecord& record, int64_t iteration, const Evaluation& evaluation) {
  records_.push_back(record);
  nlohmann::json event = to_json(record);
  event["iteration"] = iteration;
  add_class_counts(event, evaluation, arguments_.classes.top_k);
  log_.write(event);
  write_curves();
  if (!events_) return;
  std::vector<EventFile::Scalar> scalars{{"loss/train", record.loss},
                                         {"learning_rate", record.learning_rate},
                                         {"images_per_second", record.images_per_second}};
  if (record.evaluation_loss) scalars.emplace_back("loss/test", *record.evaluation_loss);
  if (record.accuracy) scalars.emplace_back("accuracy/test", *record.accuracy);
  if (record.top_k_accuracy)
    scalars.emplace_back(fmt::format("accuracy/test_top_{}", arguments_.classes.top_k), *record.top_k_accuracy);
  events_->write(iteration, scalars);
}

void TrainingReport::write_curves() const {
  if (arguments_.curves.empty()) return;
  AtomicFile file(arguments_.curves);
  file.write(curves_svg(title_, records_, arguments_.classes.top_k));
  file.commit();
}

void TrainingReport::print_table() const { fmt::print("\n{}\n", epoch_table(records_, arguments_.classes.top_k)); }

void TrainingReport::end(nlohmann::json facts, const RunTimes& times, double target_accuracy) {
  facts["event"] = "end";
  facts["seconds"] = facts["training_seconds"] = times.training;
  facts["evaluation_seconds"] = times.evaluation;
  facts["checkpoint_seconds"] = times.checkpoints;
  facts["wall_seconds"] = times.wall;
  if (target_accuracy > 0) {
    const std::optional<double> reached = time_to_accuracy(records_, target_accuracy);
    facts["target_accuracy"] = target_accuracy;
    facts["time_to_accuracy"] = reached ? nlohmann::json(*reached) : nlohmann::json();
    const std::string target = fmt::format("{:g} %", target_accuracy * 100);
    reached ? fmt::print("reached {} accuracy after {} of training and {} of evaluation\n", target, duration(*reached),
                         duration(times.evaluation))
            : fmt::print("did not reach {} accuracy\n", target);
  }
  log_.write(facts);
}

}  // namespace arbalest::tools
