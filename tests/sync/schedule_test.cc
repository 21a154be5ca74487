#include "sync/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/base/error.h"

namespace arbalest {
namespace {

ScheduleOptions schedule_of(ScheduleKind kind) {
  ScheduleOptions o;
  o.kind = kind;
  return o;
}

// Rates of torch.optim.lr_scheduler (PyTorch 2), stepped once an epoch from 0.4, or once a percent of an epoch where
// the schedule is continuous.
TEST(Schedule, EqualsTorch) {
  ScheduleOptions step = schedule_of(ScheduleKind::step);
  step.step = 3;
  const Schedule steps(step, 0.4, 10);
  EXPECT_DOUBLE_EQ(steps.rate_at(2.999), 0.4);
  EXPECT_NEAR(steps.rate_at(3), 0.04, 1e-15);
  EXPECT_NEAR(steps.rate_at(9.5), 0.0004, 1e-15);
  EXPECT_EQ(steps.steps(), (std::vector<double>{3, 6, 9}));

  ScheduleOptions multi = schedule_of(ScheduleKind::multi_step);
  multi.milestones = {2, 5.5};
  multi.gamma = 0.5;
  const Schedule milestones(multi, 0.4, 10);
  EXPECT_DOUBLE_EQ(milestones.rate_at(1.99), 0.4);
  EXPECT_DOUBLE_EQ(milestones.rate_at(2), 0.2);
  EXPECT_DOUBLE_EQ(milestones.rate_at(5.5), 0.1);

  ScheduleOptions exponential = schedule_of(ScheduleKind::exponential);
  exponential.gamma = 0.9;
  EXPECT_NEAR(Schedule(exponential, 0.4, 10).rate_at(3), 0.2916, 1e-12);
}

TEST(Schedule, CosineOfSgdrAfterTheWarmup) {
  ScheduleOptions o = schedule_of(ScheduleKind::cosine);
  o.warmup = 2;
  o.floor = 0.25;
  const Schedule cosine(o, 0.4, 10);
  EXPECT_NEAR(cosine.rate_at(0), 0.04, 1e-12);
  EXPECT_NEAR(cosine.rate_at(1), 0.22, 1e-12);
  EXPECT_NEAR(cosine.rate_at(2), 0.4, 1e-12);
  for (const double e : {3.0, 6.0, 9.5}) {
    const double want = 0.1 + 0.5 * (0.4 - 0.1) * (1 + std::cos(M_PI * (e - 2) / 8));
    EXPECT_NEAR(cosine.rate_at(e), want, 1e-12);
  }
  EXPECT_NEAR(cosine.rate_at(10), 0.1, 1e-12);
  EXPECT_NEAR(cosine.rate_at(12), 0.1, 1e-12);
}

// torch.optim.lr_scheduler.OneCycleLR(max_lr=0.4, total_steps=101): steps 0, 10, 30 (the peak is at 29.3), 65, 100.
TEST(Schedule, OneCycleRisesAndFalls) {
  const Schedule cycle(schedule_of(ScheduleKind::one_cycle), 0.4, 10);
  EXPECT_NEAR(cycle.rate_at(0), 0.016, 1e-12);
  EXPECT_NEAR(cycle.rate_at(3), 0.4, 1e-12);
  EXPECT_NEAR(cycle.rate_at(6.5), (0.4 + 0.016e-4) / 2, 1e-12);
  EXPECT_NEAR(cycle.rate_at(10), 0.016e-4, 1e-12);
}

TEST(Schedule, LinearFallsToTheFloor) {
  ScheduleOptions o = schedule_of(ScheduleKind::linear);
  o.floor = 0.5;
  const Schedule linear(o, 0.4, 10);
  EXPECT_NEAR(linear.rate_at(5), 0.3, 1e-12);
  EXPECT_NEAR(linear.rate_at(10), 0.2, 1e-12);
}

TEST(Schedule, PlateauWaitsThenFalls) {
  ScheduleOptions o = schedule_of(ScheduleKind::plateau);
  o.patience = 2;
  Schedule plateau(o, 0.4, 10);
  EXPECT_FALSE(plateau.observe(1.0));
  EXPECT_FALSE(plateau.observe(0.9));
  EXPECT_FALSE(plateau.observe(0.91));
  EXPECT_FALSE(plateau.observe(0.92));
  EXPECT_DOUBLE_EQ(plateau.rate_at(4), 0.4);
  EXPECT_TRUE(plateau.observe(0.9));
  EXPECT_NEAR(plateau.rate_at(5), 0.04, 1e-15);
  EXPECT_FALSE(plateau.observe(0.5));
  EXPECT_FALSE(plateau.observe(std::nan("")));  // no progress
  EXPECT_FALSE(plateau.observe(std::nan("")));
  EXPECT_TRUE(plateau.observe(std::nan("")));
  EXPECT_EQ(plateau.state().best, 0.5);
}

TEST(Schedule, PlateauAtItsFloorDoesNotFall) {
  ScheduleOptions o = schedule_of(ScheduleKind::plateau);
  o.patience = 1;
  o.floor = 0.05;
  Schedule plateau(o, 0.4, 10);
  std::vector<bool> falls;
  for (int i = 0; i < 9; ++i) falls.push_back(plateau.observe(1));
  EXPECT_EQ(falls, (std::vector<bool>{false, false, true, false, true, false, false, false, false}));
  EXPECT_NEAR(plateau.rate_at(9), 0.02, 1e-15);
}

TEST(Schedule, StepsAtPartsOfAnEpoch) {
  ScheduleOptions o = schedule_of(ScheduleKind::step);
  o.step = 0.1;
  o.gamma = 0.5;
  const Schedule steps(o, 1, 1);
  EXPECT_EQ(steps.steps().size(), 9u);
  EXPECT_DOUBLE_EQ(steps.rate_at(0.3), 0.125);  // 0.3 / 0.1 is less than 3 in binary
  EXPECT_DOUBLE_EQ(steps.rate_at(0.1 * 7), 1.0 / 128);
}

// During a warm-up the rate rises; where it ends, all the falls so far come at once.
TEST(Schedule, FallsDuringTheWarmupComeAtItsEnd) {
  ScheduleOptions o = schedule_of(ScheduleKind::step);
  o.step = 2;
  o.warmup = 5;
  EXPECT_EQ(Schedule(o, 1, 10).steps(), (std::vector<double>{5, 6, 8}));
  o.warmup = 4;
  EXPECT_EQ(Schedule(o, 1, 10).steps(), (std::vector<double>{4, 6, 8}));
  o.warmup = 1;
  EXPECT_EQ(Schedule(o, 1, 10).steps(), (std::vector<double>{2, 4, 6, 8}));
}

TEST(Schedule, RefusesWrongOptions) {
  ScheduleOptions o = schedule_of(ScheduleKind::multi_step);
  EXPECT_THROW(Schedule(o, 0.1, 10), Error);
  o.milestones = {3, 2};
  EXPECT_THROW(Schedule(o, 0.1, 10), Error);
  o = {};
  o.gamma = 0;
  EXPECT_THROW(Schedule(o, 0.1, 10), Error);
  o = {};
  o.warmup = -1;
  EXPECT_THROW(Schedule(o, 0.1, 10), Error);
  o = schedule_of(ScheduleKind::step);
  o.step = 1e-12;  // more falls than memory
  EXPECT_THROW(Schedule(o, 0.1, 10), Error);
}

}  // namespace
}  // namespace arbalest
