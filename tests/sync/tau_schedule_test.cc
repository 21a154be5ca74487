#include "sync/tau_schedule.h"

#include <gtest/gtest.h>

#include "graph/base/error.h"

namespace arbalest {
namespace {

std::string synchronising(const TauSchedule& tau, int64_t iterations) {
  std::string text;
  for (int64_t t = 0; t < iterations; ++t) text += tau.synchronises(t) ? 'x' : '.';
  return text;
}

TEST(TauSchedule, SynchronisesAtTheEndOfEveryTau) {
  EXPECT_EQ(synchronising(1, 5), "xxxxx");
  EXPECT_EQ(synchronising(3, 8), "..x..x..");
  EXPECT_EQ(synchronising(TauSchedule::parse("1,3:2,8:4"), 16), "xxx.x.x....x...x");
}

TEST(TauSchedule, CountsSynchronisations) {
  for (const char* text : {"1", "3", "1,3:2,8:4", "5,7:1"}) {
    const TauSchedule tau = TauSchedule::parse(text);
    EXPECT_EQ(tau.text(), text);
    int64_t count = 0;
    int64_t begin = 0;
    for (int64_t t = 0; t < 30; ++t) {
      EXPECT_EQ(tau.count_before(t), count) << text << " at " << t;
      EXPECT_EQ(tau.begin_of(t), begin) << text << " at " << t;
      count += tau.synchronises(t);
      if (tau.synchronises(t)) begin = t + 1;
    }
  }
}

TEST(TauSchedule, RefusesWhatMakesNoSense) {
  for (const char* text : {"", "0", "-1", "x", "1,", "1,5", "3:1", "1,5:2,5:3", "1,9:2,5:3", "1,5:0", "1:2:3", " 1",
                           "99999999999999999999", "1,-5:2", "2.5"}) {
    try {
      TauSchedule::parse(text);
      FAIL() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::usage) << text;
    }
  }
  EXPECT_THROW(TauSchedule(0), Error);
}

}  // namespace
}  // namespace arbalest
