// What a training run tells while it goes on, in all places where it was asked for: the line and the table on the
// terminal, the log, TensorBoard's event files, the curves.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sync/evaluator.h"
#include "tools/class_report.h"
#include "tools/event_file.h"
#include "tools/progress.h"

namespace arbalest::tools {

struct ReportArguments {
  std::string log, tensorboard, curves;  // "": none
  double log_every = 0.05;               // epochs between messages of progress; 0: none
  ClassArguments classes;
};

void add_report_options(CLI::App& command, ReportArguments& arguments);

// Inside an epoch.
struct Progress {
  int64_t iteration = 0;                                                 // how many have run
  double epoch = 0, loss = 0, learning_rate = 0, images_per_second = 0;  // means since the message before
};

struct RunTimes {
  double training = 0;  // in iterations, with the waits for data
  double evaluation = 0;
  double checkpoints = 0;  // while nothing trains; they are written beside the training
  double wall = 0;         // from the first iteration on, all of it
};

class TrainingReport {
 public:
  // `resumed_at`: iterations that have run before; the log of these stays.
  TrainingReport(const ReportArguments& arguments, std::string title, bool resumed, int64_t resumed_at);

  bool wants_progress() const { return arguments_.log_every > 0 && (log_.active() || events_); }
  LiveLine& line() { return line_; }
  const std::vector<EpochRecord>& records() const { return records_; }
  // Goes on after these evaluations and iterations; what the log has of later ones comes again.
  void resume(std::vector<EpochRecord> records, int64_t iterations);

  // `choice`: how the learners were chosen, an event a decision.
  void start(const nlohmann::json& facts, const std::vector<nlohmann::json>& choice);
  void progress(const Progress& progress);
  void evaluated(const EpochRecord& record, int64_t iteration, const Evaluation& evaluation);
  void print_table() const;
  void end(nlohmann::json facts, const RunTimes& times, double target_accuracy);

 private:
  void write_curves() const;

  const ReportArguments& arguments_;
  std::string title_;
  JsonLog log_;
  std::unique_ptr<EventFile> events_;
  LiveLine line_;
  std::vector<EpochRecord> records_;
};

}  // namespace arbalest::tools
