// The live line of a training run, the table at its end, and its log.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace arbalest::tools {

struct EpochRecord {
  double epoch = 0;    // seen so far, since the beginning
  double seconds = 0;  // of training since the record before; evaluation apart
  double loss = 0;     // mean over those steps, of the learners
  double images_per_second = 0;
  double learning_rate = 0;  // of the last step
  double evaluation_seconds = 0;
  std::optional<double> accuracy;  // of the evaluated model on the held-out examples
  std::optional<double> top_k_accuracy;
  std::optional<double> evaluation_loss;
};

// One JSON object a line, written at once; io error when the file cannot be written.
class JsonLog {
 public:
  explicit JsonLog(const std::string& path, bool append = false);  // "": no log
  bool active() const { return file_ != nullptr; }
  void write(const nlohmann::json& event);
  // Of the events so far; a last line that was cut off goes too. Nothing happens to a pipe or device. Model error where
  // the file is no log.
  void keep_if(const std::function<bool(const nlohmann::json& event)>& wanted);

 private:
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// Overwrites one line of the terminal; does nothing where standard output is not a terminal.
class LiveLine {
 public:
  LiveLine();
  bool active() const { return active_; }
  void show(const std::string& text);
  void clear();

 private:
  bool active_;
};

std::string progress_bar(double fraction, int width);  // "━━━━━╸    "
std::string duration(double seconds);                  // "4.1 s", "2:05", "1:02:03"
std::string epoch_table(const std::vector<EpochRecord>& epochs, int top_k);
// Seconds of training until an evaluation reached the accuracy; none: no one did.
std::optional<double> time_to_accuracy(const std::vector<EpochRecord>& epochs, double accuracy);
EpochRecord epoch_record(const nlohmann::json& event);  // of what to_json() made
nlohmann::json to_json(const EpochRecord& epoch);       // {"event":"epoch","epoch":1,"seconds":..,...}

}  // namespace arbalest::tools
