#include "exec/cpu/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <random>

#include "graph/base/error.h"

namespace arbalest {
namespace {

using testing::HasSubstr;

std::string failure_of(Stream& stream) {
  try {
    stream.synchronize();
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
}

TEST(CpuStream, RunsInOrderBeyondTheSizeOfItsQueue) {
  CpuDevice device;
  const auto stream = device.make_stream({});
  std::vector<int64_t> seen;
  const Work work{"append", [&](int64_t i) { seen.push_back(i); }};
  for (int64_t i = 0; i < 5000; ++i) stream->run(work, i);
  stream->synchronize();
  std::vector<int64_t> expected(5000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

TEST(CpuStream, EventsOrderStreams) {
  CpuDevice device;
  const auto filled = device.make_event();
  const auto emptied = device.make_event();
  const auto a = device.make_stream({.name = "a"});
  const auto b = device.make_stream({.name = "b"});
  int64_t box = -1;
  int64_t wrong = 0;
  const Work fill{"fill", [&](int64_t t) { box = t; }};
  const Work empty{"empty", [&](int64_t t) {
                     wrong += box != t;
                     box = -1;
                   }};
  for (int64_t t = 0; t < 3000; ++t) {
    a->wait(*emptied, static_cast<uint64_t>(t));
    a->run(fill, t);
    a->record(*filled, static_cast<uint64_t>(t) + 1);
    b->wait(*filled, static_cast<uint64_t>(t) + 1);
    b->run(empty, t);
    b->record(*emptied, static_cast<uint64_t>(t) + 1);
  }
  emptied->synchronize(3000);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(box, -1);
}

TEST(CpuStream, LongSleepersAreWoken) {
  CpuDevice device;
  const auto a = device.make_stream({});
  const auto b = device.make_stream({});
  const auto event = device.make_event();
  bool slept = false;
  const Work nap{"nap", [&](int64_t) {
                   std::this_thread::sleep_for(std::chrono::milliseconds(20));
                   slept = true;
                 }};
  bool seen = false;
  const Work look{"look", [&](int64_t) { seen = slept; }};
  b->wait(*event, 1);
  b->run(look, 0);
  a->run(nap, 0);
  a->record(*event, 1);
  b->synchronize();
  EXPECT_TRUE(seen);
}

TEST(CpuStream, KeepsTheFirstFailureAndSkipsLaterWork) {
  CpuDevice device;
  const auto a = device.make_stream({});
  const auto b = device.make_stream({});
  const auto event = device.make_event();
  int ran = 0;
  const Work fail{"update 3", [](int64_t t) { throw Error(ErrorKind::model, "loss is NaN at step {}", t); }};
  const Work count{"count", [&](int64_t) { ++ran; }};
  a->run(fail, 7);
  a->run(fail, 8);
  a->run(count, 8);
  a->record(*event, 1);
  b->wait(*event, 1);
  b->run(count, 8);
  b->synchronize();
  EXPECT_EQ(failure_of(*a), "update 3: loss is NaN at step 7");
  EXPECT_EQ(ran, 1);
  a->run(count, 9);  // as new
  EXPECT_EQ(failure_of(*a), "none");
  EXPECT_EQ(ran, 2);
}

TEST(CpuStream, NamesForeignFailures) {
  CpuDevice device;
  const auto stream = device.make_stream({});
  const Work standard{"load", [](int64_t) { throw std::out_of_range("index 9"); }};
  const Work memory{"load", [](int64_t) { throw std::bad_alloc(); }};
  const Work odd{"load", [](int64_t) { throw 3; }};
  stream->run(standard, 0);
  EXPECT_EQ(failure_of(*stream), "load: index 9");
  stream->run(memory, 0);
  EXPECT_EQ(failure_of(*stream), "load: out of memory");
  stream->run(odd, 0);
  EXPECT_EQ(failure_of(*stream), "load: unknown exception");
}

TEST(CpuStream, EndsWithWhatIsLeft) {
  int ran = 0;
  const Work count{"count", [&](int64_t) { ++ran; }};
  {
    CpuDevice device;
    const auto stream = device.make_stream({});
    for (int i = 0; i < 100; ++i) stream->run(count, i);
  }
  EXPECT_EQ(ran, 100);
}

TEST(CpuStream, RunsOnTheCoresGiven) {
  CpuDevice device;
  const int core = available_cores().back();
  const auto stream = device.make_stream({.name = "pinned", .cores = {core}});
  std::vector<int> cores;
  const Work look{"look", [&](int64_t) { cores = available_cores(); }};
  stream->run(look, 0);
  stream->synchronize();
  EXPECT_EQ(cores, std::vector<int>{core});
  EXPECT_GE(available_cores().size(), cores.size());
  try {
    device.make_stream({.name = "nowhere", .cores = {100000}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::device);
    EXPECT_THAT(e.what(), HasSubstr("nowhere: cannot run on cores 100000"));
  }
}

TEST(CpuDevice, AllocatesZeroedAlignedMemory) {
  CpuDevice device;
  const DeviceMemory memory = device.allocate(3u << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
  EXPECT_EQ(memory[12345], std::byte{0});
  EXPECT_NE(device.allocate(0), nullptr);
  EXPECT_THROW(device.allocate(size_t{1} << 60), Error);
}

TEST(CudaDevice, IsAbsent) {
  try {
    make_cuda_device(0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
    EXPECT_THAT(e.what(), HasSubstr("this build has no CUDA"));
  }
}

}  // namespace
}  // namespace arbalest
