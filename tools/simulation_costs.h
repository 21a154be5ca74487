// How long the tasks of a simulated run take: as given, as measured here, or by a bandwidth.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sync/simulation.h"
#include "tools/session.h"
#include "tools/training_options.h"

namespace arbalest::tools {

constexpr const char* kLearn = "learn";  // categories of tasks
constexpr const char* kAllReduce = "all-reduce";

// What tasks take on this machine.
struct Measured {
  int learners = 0;
  // Of the tasks by category, in their order, one learner after the other.
  std::map<std::string, std::vector<double>> seconds;
  std::map<std::string, double> arrays;  // that it moves
  double iteration = 0;                  // seconds
};

Measured measure_here(const TrainingArguments& training, const Session& session, int learners);

struct Link {
  double bytes_a_second = 0;
  double latency = 0;  // seconds of a message
};

struct CostArguments {
  std::vector<std::string> times;  // TASK=MILLISECONDS
  std::string link;                // GB/s or GB/s,MICROSECONDS; empty: the devices share memory
  double memory_bandwidth = 0;     // GB/s; 0: measured
};

class CostModel {
 public:
  CostModel(const CostArguments& arguments, int devices, size_t array_bytes);  // usage error

  // Usage error for a --time of none of these tasks.
  void check_times(const std::set<std::string>& tasks) const;
  bool needs_measurement() const { return bytes_a_second_ <= 0; }
  void use(Measured measured) { measured_ = std::move(measured); }

  // `arrays`: that the task moves.
  TaskCost cost(const std::string& work, int64_t iteration, double arrays) const;

 private:
  double played_back(const std::vector<double>& seconds, const std::string& work, int64_t iteration) const;
  double bandwidth() const;

  const double devices_, bytes_;
  const std::map<std::string, double> given_;  // seconds by category
  const std::optional<Link> link_;
  const double bytes_a_second_;
  Measured measured_;
};

}  // namespace arbalest::tools
