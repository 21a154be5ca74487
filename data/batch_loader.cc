#include "data/batch_loader.h"

#include <algorithm>
#include <memory>

#include "data/allocation.h"
#include "data/order.h"

namespace arbalest {
namespace {

constexpr double kRingBytes = 1 << 20;
constexpr double kGreatestHalf = 32;

uint64_t choose_half(int depth, double iteration_bytes) {
  if (depth > 0) return (static_cast<uint64_t>(depth) + 1) / 2;
  return static_cast<uint64_t>(std::clamp(kRingBytes / 2 / iteration_bytes, 1.0, kGreatestHalf));
}

BatchLoader::Fill from_dataset(const Dataset& dataset, const Normalisation& normalisation,
                               const BatchLoaderOptions& options) {
  const auto learners = static_cast<uint64_t>(options.learners);
  const auto filler = std::make_shared<const BatchFiller>(dataset, normalisation);
  const auto order = std::make_shared<DataOrder>(dataset.size(), options.seed);
  return [=](Batch& batch, uint64_t iteration, int learner) {
    const uint64_t first =
        (iteration * learners + static_cast<uint64_t>(learner)) * static_cast<uint64_t>(batch.size());
    for (int64_t row = 0; row < batch.size(); ++row) {
      filler->fill(batch, row, order->sample(first + static_cast<uint64_t>(row)));
    }
  };
}

}  // namespace

BatchLoader::BatchLoader(const Dataset& dataset, const Normalisation& normalisation, const BatchLoaderOptions& options)
    : BatchLoader(dataset, options, from_dataset(dataset, normalisation, options)) {}

BatchLoader::BatchLoader(const Dataset& dataset, const BatchLoaderOptions& options, Fill fill)
    : fill_(std::move(fill)), first_iteration_(options.first_iteration), learners_(0) {
  if (options.learners < 1 || options.batch < 1) {
    throw Error(ErrorKind::usage, "{} learners with batches of {}: both must be at least 1", options.learners,
                options.batch);
  }
  const double bytes = static_cast<double>(batch_bytes(dataset, options.batch)) * options.learners;
  half_ = choose_half(options.depth, bytes);
  check_memory(bytes * static_cast<double>(2 * half_));
  learners_ = std::vector<Learner>(static_cast<size_t>(options.learners));
  for (Learner& learner : learners_) {
    for (uint64_t i = 0; i < 2 * half_; ++i) learner.slots.push_back(make_batch(dataset, options.batch));
  }
  thread_ = std::thread([this] { run(); });
}

BatchLoader::~BatchLoader() { stop(); }

void BatchLoader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  freed_.notify_all();
  filled_up_.notify_all();
  if (thread_.joinable()) thread_.join();
}

const Batch& BatchLoader::next(int learner) {
  Learner& l = learners_[static_cast<size_t>(learner)];
  ensure(!l.holds, "learner {} asks for a batch before it released the last one", learner);
  const uint64_t iteration = l.released.load(std::memory_order_relaxed);
  if (filled_.load(std::memory_order_acquire) <= iteration) {
    std::unique_lock lock(mutex_);
    filled_up_.wait(lock, [&] { return filled_.load() > iteration || failure_ || stopped_; });
    if (filled_.load() <= iteration) {
      if (failure_) std::rethrow_exception(failure_);
      throw Error(ErrorKind::internal, "a batch was asked for after the loader stopped");
    }
  }
  l.holds = true;
  return l.slots[iteration % l.slots.size()];
}

void BatchLoader::release(int learner) {
  Learner& l = learners_[static_cast<size_t>(learner)];
  ensure(l.holds, "learner {} releases a batch that it does not hold", learner);
  l.holds = false;
  const uint64_t done = l.released.load(std::memory_order_relaxed) + 1;
  l.released.store(done, std::memory_order_release);
  if (done % half_ == 0) {
    const std::lock_guard lock(mutex_);  // the thread is either before its check or asleep, not between
    freed_.notify_one();
  }
}

bool BatchLoader::half_is_free(uint64_t first) const {
  return std::all_of(learners_.begin(), learners_.end(),
                     [&](const Learner& l) { return l.released.load(std::memory_order_acquire) + half_ >= first; });
}

void BatchLoader::run() {
  for (uint64_t first = 0;; first += half_) {
    {
      std::unique_lock lock(mutex_);
      freed_.wait(lock, [&] { return stopped_ || half_is_free(first); });
    }
    for (uint64_t iteration = first; iteration < first + half_; ++iteration) {
      try {
        fill_iteration(iteration);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
        filled_up_.notify_all();
        return;
      }
      {
        const std::lock_guard lock(mutex_);
        if (stopped_) return;
        filled_.store(iteration + 1, std::memory_order_release);
      }
      filled_up_.notify_all();
    }
  }
}

void BatchLoader::fill_iteration(uint64_t iteration) {
  for (size_t j = 0; j < learners_.size(); ++j) {
    std::vector<Batch>& slots = learners_[j].slots;
    fill_(slots[iteration % slots.size()], first_iteration_ + iteration, static_cast<int>(j));
  }
}

}  // namespace arbalest
