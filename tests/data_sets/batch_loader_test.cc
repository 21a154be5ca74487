#include "data/batch_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>

#include "data/order.h"
#include "tests/data_sets/examples.h"
#include "tests/data_sets/files.h"

namespace arbalest {
namespace {

using ::testing::HasSubstr;

// The examples, by their label, that a learner's next batch holds.
std::vector<int64_t> take_next(BatchLoader& loader, int learner) {
  const Batch& batch = loader.next(learner);
  const std::span<const int64_t> labels = batch.labels.as<int64_t>();
  const std::span<const float> inputs = batch.inputs[0].as<float>();
  for (size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(inputs[i], static_cast<float>(labels[i]));
  std::vector<int64_t> examples(labels.begin(), labels.end());
  loader.release(learner);
  return examples;
}

std::vector<int64_t> expected(uint32_t n, const BatchLoaderOptions& o, uint64_t iteration, int learner) {
  DataOrder order(n, o.seed);
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < o.batch; ++i) {
    const auto position = static_cast<int64_t>(iteration) * o.learners * o.batch + learner * o.batch + i;
    examples.push_back(order.sample(static_cast<uint64_t>(position)));
  }
  return examples;
}

TEST(BatchLoader, LearnersTakeTheirPartsOfOneStream) {
  const Dataset d = numbered(23, 23);  // no multiple of the batch: batches span epochs
  for (const int learners : {1, 2, 3}) {
    for (const int64_t batch : {1, 4, 50}) {
      for (const int depth : {0, 1, 2, 5}) {
        BatchLoaderOptions o{learners, batch, /*seed=*/7, /*first_iteration=*/0, depth};
        BatchLoader loader(d, no_normalisation(d), o);
        EXPECT_GE(loader.depth(), 2);
        for (uint64_t t = 0; t < 20; ++t) {
          for (int j = 0; j < learners; ++j) ASSERT_EQ(take_next(loader, j), expected(23, o, t, j)) << t << " " << j;
        }
      }
    }
  }
}

TEST(BatchLoader, GoesOnFromAnIteration) {
  const Dataset d = numbered(23, 23);
  const BatchLoaderOptions o{2, 3, 7, /*first_iteration=*/1000, 0};
  BatchLoader loader(d, no_normalisation(d), o);
  for (uint64_t t = 1000; t < 1010; ++t) EXPECT_EQ(take_next(loader, 1), expected(23, o, t, 1));
}

TEST(BatchLoader, TheSameWhateverTheTiming) {
  const Dataset d = numbered(100, 100);
  const BatchLoaderOptions o{3, 2, 11, 0, 4};
  BatchLoader loader(d, no_normalisation(d), o);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int j = 0; j < 3; ++j) {
    threads.emplace_back([&, j] {
      std::mt19937 random(static_cast<unsigned>(j));
      for (uint64_t t = 0; t < 300; ++t) {
        if (random() % 20 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
        if (take_next(loader, j) != expected(100, o, t, j)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(BatchLoader, ABatchStaysUntilItIsReleased) {
  const Dataset d = numbered(100, 100);
  const BatchLoaderOptions o{2, 2, 1, 0, 2};
  BatchLoader loader(d, no_normalisation(d), o);
  const Batch& held = loader.next(0);
  for (int t = 0; t < 2; ++t) take_next(loader, 1);  // all that fits while learner 0 stands still
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(held.labels.as<int64_t>()[1], expected(100, o, 0, 0)[1]);
  loader.release(0);
}

TEST(BatchLoader, StopsAtAnyTime) {
  const Dataset d = numbered(50, 50);
  for (int taken = 0; taken < 6; ++taken) {
    BatchLoader loader(d, no_normalisation(d), {1, 2, 1, 0, 2});
    for (int t = 0; t < taken; ++t) take_next(loader, 0);
  }
}

TEST(BatchLoader, StopWakesLearnersThatWait) {
  const Dataset d = numbered(50, 50);
  BatchLoader loader(d, no_normalisation(d), {2, 2, 1, 0, 2});
  std::thread waiting([&] {
    EXPECT_THAT(error_of([&] {
                  for (;;) take_next(loader, 1);  // learner 0 takes nothing, so this one runs out of batches
                }),
                HasSubstr("after the loader stopped"));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  loader.stop();
  waiting.join();
}

TEST(BatchLoader, AFailureReachesTheLearners) {
  const Dataset d = numbered(50, 50);
  const auto fill = [](Batch& batch, uint64_t iteration, int) {
    if (iteration == 5) throw Error(ErrorKind::io, "the disk is gone");
    batch.labels.as<int64_t>()[0] = static_cast<int64_t>(iteration);
  };
  BatchLoader loader(d, {2, 1, 1, 0, 4}, fill);
  for (int j = 0; j < 2; ++j) {
    for (int64_t t = 0; t < 4; ++t) {
      EXPECT_EQ(loader.next(j).labels.as<int64_t>()[0], t);
      loader.release(j);
    }
  }
  EXPECT_EQ(loader.next(1).labels.as<int64_t>()[0], 4);
  loader.release(1);
  EXPECT_EQ(error_of([&] { loader.next(1); }), "the disk is gone");
  EXPECT_EQ(loader.next(0).labels.as<int64_t>()[0], 4) << "what was filled before can still be taken";
}

TEST(BatchLoader, Misuse) {
  const Dataset d = numbered(5);
  BatchLoader loader(d, no_normalisation(d), {1, 1, 1, 0, 2});
  EXPECT_THAT(error_of([&] { loader.release(0); }), HasSubstr("does not hold"));
  loader.next(0);
  EXPECT_THAT(error_of([&] { loader.next(0); }), HasSubstr("before it released"));
  EXPECT_THAT(error_of([&] { BatchLoader(d, no_normalisation(d), {0, 1, 1, 0, 0}); }), HasSubstr("at least 1"));
  EXPECT_THAT(error_of([&] {
                BatchLoader(d, no_normalisation(d), {1, int64_t{1} << 50, 1, 0, 0});
              }),
              HasSubstr("the machine has"));
}

}  // namespace
}  // namespace arbalest
