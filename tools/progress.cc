#include "tools/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "tools/table.h"

namespace arbalest::tools {

JsonLog::JsonLog(const std::string& path, bool append) : path_(path), file_(nullptr, std::fclose) {
  if (path.empty()) return;
  file_.reset(std::fopen(path.c_str(), append ? "a" : "w"));
  if (!file_) throw Error(ErrorKind::io, "{}: the log cannot be written", path);
}

void JsonLog::write(const nlohmann::json& event) {
  if (!file_) return;
  const std::string line = event.dump() + "\n";
  if (std::fputs(line.c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0)
    throw Error(ErrorKind::io, "{}: the log cannot be written", path_);
}

void JsonLog::keep_if(const std::function<bool(const nlohmann::json&)>& wanted) {
  if (!file_ || !std::filesystem::is_regular_file(path_)) return;  // what a pipe was told cannot be taken back
  const std::string real = std::filesystem::canonical(path_).string();
  std::string kept, line;
  for (std::ifstream in(real); std::getline(in, line);) {
    if (line.empty() || (in.eof() && line.front() == '{')) continue;  // the last one: its end was not written
    try {
      if (wanted(nlohmann::json::parse(line))) kept += line + "\n";
    } catch (const nlohmann::json::exception&) {
      throw Error(ErrorKind::model, "{}: is no log of a run; give another --log", path_);
    }
  }
  AtomicFile whole(real);
  whole.write(kept);
  whole.commit();
  file_.reset(std::fopen(path_.c_str(), "a"));
  if (!file_) throw Error(ErrorKind::io, "{}: the log cannot be written", path_);
}

LiveLine::LiveLine() : active_(isatty(STDOUT_FILENO) != 0) {}

void LiveLine::show(const std::string& text) {
  if (!active_) return;
  fmt::print("\r\x1b[2K{}", text);
  std::fflush(stdout);
}

void LiveLine::clear() { show(""); }

std::string progress_bar(double fraction, int width) {
  const double filled = std::min(1.0, std::max(0.0, fraction)) * width;
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i + 1 <= filled ? "━" : i + 0.5 <= filled ? "╸" : " ";
  return bar;
}

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto s = static_cast<int64_t>(std::llround(seconds));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

std::string epoch_table(const std::vector<EpochRecord>& epochs, int top_k) {
  std::vector<std::string> header{">epoch", ">training loss", ">test loss", ">accuracy"};
  if (top_k > 0) header.push_back(fmt::format(">top {}", top_k));
  header.insert(header.end(), {">images/s", ">time"});
  Table table(header);
  const auto percent = [](const std::optional<double>& part) {
    return part ? fmt::format("{:.2f} %", *part * 100) : "";
  };
  double total = 0;
  for (const EpochRecord& e : epochs) {
    total += e.seconds;
    std::vector<std::string> row{fmt::format("{:g}", e.epoch), fmt::format("{:.4f}", e.loss),
                                 e.evaluation_loss ? fmt::format("{:.4f}", *e.evaluation_loss) : "",
                                 percent(e.accuracy)};
    if (top_k > 0) row.push_back(percent(e.top_k_accuracy));
    row.insert(row.end(), {with_thousands(std::llround(e.images_per_second)), duration(total)});
    table.add(std::move(row));
  }
  return table.text();
}

std::optional<double> time_to_accuracy(const std::vector<EpochRecord>& epochs, double accuracy) {
  double seconds = 0;
  for (const EpochRecord& e : epochs) {
    seconds += e.seconds;
    if (e.accuracy && *e.accuracy >= accuracy) return seconds;
  }
  return std::nullopt;
}

nlohmann::json to_json(const EpochRecord& e) {
  nlohmann::json j = {{"event", "epoch"},
                      {"epoch", e.epoch},
                      {"seconds", e.seconds},
                      {"loss", e.loss},
                      {"images_per_second", e.images_per_second},
                      {"learning_rate", e.learning_rate},
                      {"evaluation_seconds", e.evaluation_seconds}};
  if (e.epoch == std::floor(e.epoch)) j["epoch"] = static_cast<int64_t>(e.epoch);
  if (e.accuracy) j["accuracy"] = *e.accuracy;
  if (e.top_k_accuracy) j["top_k_accuracy"] = *e.top_k_accuracy;
  if (e.evaluation_loss) j["test_loss"] = *e.evaluation_loss;
  return j;
}

EpochRecord epoch_record(const nlohmann::json& event) {
  EpochRecord e;
  e.epoch = event.at("epoch").get<double>();
  e.seconds = event.at("seconds").get<double>();
  e.loss = event.at("loss").get<double>();
  e.images_per_second = event.at("images_per_second").get<double>();
  e.learning_rate = event.at("learning_rate").get<double>();
  e.evaluation_seconds = event.at("evaluation_seconds").get<double>();
  if (event.contains("top_k_accuracy")) e.top_k_accuracy = event["top_k_accuracy"].get<double>();
  if (event.contains("accuracy")) e.accuracy = event["accuracy"].get<double>();
  if (event.contains("test_loss"))
    e.evaluation_loss = event["test_loss"].is_number() ? event["test_loss"].get<double>() : NAN;  // JSON has none
  return e;
}

}  // namespace arbalest::tools
