// Batches prepared in the background for k learners: one thread fills a ring of slots ahead of the learners.
//
// Iteration t of learner j is the stream's positions [(t k + j) b, (t k + j + 1) b), whatever the timing. After
// construction nothing allocates, and a learner whose batch is ready takes it without a lock. The ring is filled half
// by half, so that the thread wakes once for many small batches.
//
// Thread safety: each learner index belongs to one thread at a time; stop() may be called from anywhere.
// Errors: what the background thread throws reaches every learner at its first batch that was not filled.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batch.h"

namespace arbalest {

struct BatchLoaderOptions {
  int learners = 1;
  int64_t batch = 1;             // examples for each learner
  uint64_t seed = 1;             // of the data order
  uint64_t first_iteration = 0;  // to go on where an earlier run stopped
  int depth = 0;                 // iterations in the ring, at least 2; 0: about 1 MiB, 2 to 64
};

class BatchLoader {
 public:
  // Fills iteration t for a learner; the batch is its own to write. Called from the background thread.
  using Fill = std::function<void(Batch& batch, uint64_t iteration, int learner)>;

  // The data set must outlive the loader.
  BatchLoader(const Dataset& dataset, const Normalisation& normalisation, const BatchLoaderOptions& options);
  BatchLoader(const Dataset& dataset, const BatchLoaderOptions& options, Fill fill);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // The learner's next batch, its own until release(). Waits while it is not filled. Internal error after stop().
  const Batch& next(int learner);
  void release(int learner);

  // Ends the background thread; learners that wait are woken and fail.
  void stop();

  int depth() const { return static_cast<int>(2 * half_); }

 private:
  struct alignas(64) Learner {
    std::vector<Batch> slots;
    std::atomic<uint64_t> released = 0;  // iterations that it has done with
    bool holds = false;
  };

  void run();
  void fill_iteration(uint64_t iteration);
  bool half_is_free(uint64_t first) const;  // the slots of iterations [first, first + half_)

  Fill fill_;
  uint64_t first_iteration_;
  uint64_t half_ = 1;                  // iterations in half a ring
  std::vector<Learner> learners_;      // iterations count from 0 at first_iteration_
  std::atomic<uint64_t> filled_ = 0;   // iterations ready for all learners
  std::mutex mutex_;                   // for waiting only
  std::condition_variable filled_up_;  // learners wait for filled_
  std::condition_variable freed_;      // the thread waits for released
  bool stopped_ = false;               // guarded by mutex_
  std::exception_ptr failure_;         // guarded by mutex_
  std::thread thread_;
};

}  // namespace arbalest
