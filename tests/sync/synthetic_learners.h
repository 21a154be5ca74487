// Learners whose gradients are a formula: element i of learner j in iteration t is (w_i - sin(i + 3 j + 7 t)) / 2.
// So every weight has its own history, and a reference in double precision is a few lines.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "exec/cpu/cpu_device.h"
#include "exec/optimiser/optimiser.h"
#include "graph/base/error.h"
#include "sync/synchroniser.h"
#include "sync/task_runner.h"

namespace arbalest {

constexpr int64_t kParameters = 1000;
constexpr int64_t kStatistics = 5;
constexpr double kLearningRate = 0.1;
constexpr double kMomentum = 0.9;
constexpr int64_t kSecondTensor = 400;  // its first element; norms are those of two tensors

inline double target(int64_t i, size_t learner, int64_t iteration) {
  return std::sin(static_cast<double>(i) + 3.0 * static_cast<double>(learner) + 7.0 * static_cast<double>(iteration));
}

inline float initial_weight(int64_t i) { return static_cast<float>(std::cos(static_cast<double>(i))); }

inline OptimiserOptions momentum_sgd() {
  OptimiserOptions options;
  options.momentum = kMomentum;
  return options;
}

class SyntheticLearners {
 public:
  struct Options {
    int threads = 1;
    int longest_sleep_us = 0;            // at random in every task of a learner
    bool synchronising_streams = false;  // a stream a device for it, as a GPU has; otherwise the learners' own
    Device* device = nullptr;            // of all streams; null: CPU devices
    OptimiserOptions optimiser = momentum_sgd();
  };

  SyntheticLearners(int devices, int learners_per_device, const Options& options)
      : options_(options), optimiser_(options.optimiser, tensors(options.optimiser.weight_decay)) {
    view_.parameters = kParameters;
    view_.statistics = kStatistics;
    view_.optimiser = &optimiser_;
    view_.learning_rate = [](int64_t) { return kLearningRate; };
    const auto learners = static_cast<size_t>(devices * learners_per_device);
    arrays_ = std::vector<Arrays>(learners);
    for (int d = 0; d < devices; ++d) {
      DeviceLearners group;
      group.device = options.device;
      if (options.device == nullptr) group.device = devices_.emplace_back(make_cpu_device()).get();
      for (int m = 0; m < learners_per_device; ++m)
        add_learner(group, static_cast<size_t>(d * learners_per_device + m));
      if (options.synchronising_streams) {
        streams_.push_back(group.device->make_stream({.name = "synchronising " + std::to_string(d)}));
        group.synchronising = {{streams_.back().get(), 1}};
      }
      view_.devices.push_back(std::move(group));
    }
  }

  const Learners& view() const { return view_; }
  const std::vector<float>& weights(size_t learner) const { return arrays_[learner].weights; }
  const std::vector<float>& momentum(size_t learner) const { return state(learner, 0); }
  const std::vector<float>& state(size_t learner, size_t i) const { return arrays_[learner].states[i]; }
  const std::vector<float>& statistics(size_t learner) const { return arrays_[learner].statistics; }
  // Iterations that all learners have begun.
  int64_t begun() const {
    int64_t least = arrays_[0].begun;
    for (const Arrays& a : arrays_) least = std::min<int64_t>(least, a.begun);
    return least;
  }
  void fail_at(size_t learner, int64_t iteration) { arrays_[learner].fails_at = iteration; }
  // As a trainer does it.
  void restart(Synchroniser& synchroniser, const RestartParts& parts, int64_t iteration) {
    if (parts.states) view_.states_since = iteration;
    synchroniser.restart(parts);
  }
  // The bytes of all arrays of a learner by the names of their memories in a task graph of several learners.
  std::map<std::string, std::vector<std::span<std::byte>>> arrays(size_t learner) {
    Arrays& a = arrays_[learner];
    const auto bytes = [](auto& array) { return std::as_writable_bytes(std::span(array)); };
    const auto name = [&](const char* what) { return what + (" " + std::to_string(learner)); };
    return {{name("weights"), {bytes(a.weights)}},
            {name("gradients"), {bytes(a.gradients)}},
            {name("states"), {bytes(a.states[0]), bytes(a.states[1])}},
            {name("statistics"), {bytes(a.statistics)}}};
  }

 private:
  struct Arrays {
    std::vector<float> weights, gradients, statistics;
    std::vector<float> states[kMostOptimiserStates];
    std::vector<double> measures;
    int64_t fails_at = -1;
    std::atomic<int64_t> begun{0};
    std::mt19937 random;
  };

  static std::vector<ParameterSegment> tensors(double weight_decay) {
    return {{{0, kSecondTensor}, 1, weight_decay}, {{kSecondTensor, kParameters}, 1, weight_decay}};
  }

  void add_learner(DeviceLearners& group, size_t j) {
    Arrays& a = arrays_[j];
    for (int64_t i = 0; i < kParameters; ++i) a.weights.push_back(initial_weight(i) + static_cast<float>(j));
    a.gradients.resize(kParameters);
    for (std::vector<float>& state : a.states) state.resize(kParameters);
    a.measures.resize(optimiser_.measure_count());
    a.statistics.resize(kStatistics);
    a.random.seed(static_cast<unsigned>(j));
    StreamOptions stream;
    stream.name = "learner " + std::to_string(j);
    stream.threads = options_.threads;
    streams_.push_back(group.device->make_stream(stream));
    Learner learner;
    learner.worker = {streams_.back().get(), options_.threads};
    learner.weights = a.weights.data();
    learner.gradients = a.gradients.data();
    for (int s = 0; s < optimiser_.state_count(); ++s) learner.states[s] = a.states[s].data();
    if (!a.measures.empty()) learner.measures = a.measures.data();
    learner.statistics = a.statistics.data();
    learner.forward_backward = [this, j](int64_t t) { forward_backward(j, t); };
    group.synchronising.push_back(learner.worker);
    group.learners.push_back(std::move(learner));
  }

  void forward_backward(size_t j, int64_t t) {
    Arrays& a = arrays_[j];
    ++a.begun;
    if (t == a.fails_at) throw Error(ErrorKind::model, "the loss is not finite");
    nap(a);
    for (int64_t i = 0; i < kParameters; ++i) {
      const auto at = static_cast<size_t>(i);
      a.gradients[at] = 0.5f * (a.weights[at] - static_cast<float>(target(i, j, t)));
    }
    for (int64_t i = 0; i < kStatistics; ++i) {
      a.statistics[static_cast<size_t>(i)] = static_cast<float>(static_cast<int64_t>(j) * 100 + t * 10 + i);
    }
    nap(a);
  }

  void nap(Arrays& a) const {
    if (options_.longest_sleep_us == 0) return;
    std::this_thread::sleep_for(
        std::chrono::microseconds(a.random() % static_cast<unsigned>(options_.longest_sleep_us)));
  }

  Options options_;
  Optimiser optimiser_;
  std::vector<Arrays> arrays_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Stream>> streams_;
  Learners view_;
};

inline std::unique_ptr<TaskRunner> make_runner(Synchroniser& synchroniser) {
  TaskGraph tasks;
  synchroniser.add_tasks(tasks);
  return std::make_unique<TaskRunner>(std::move(tasks));
}

inline void run(TaskRunner& runner, int iterations) {
  for (int i = 0; i < iterations; ++i) runner.launch();
  runner.synchronize();
}

inline std::vector<float> copy_of(const float* array, int64_t n) { return {array, array + n}; }

}  // namespace arbalest
