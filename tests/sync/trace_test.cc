#include "sync/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "graph/base/error.h"
#include "tests/sync/synthetic_learners.h"

namespace arbalest {
namespace {

using nlohmann::json;

std::map<int, std::string> rows_of(const json& trace) {
  std::map<int, std::string> rows;
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") rows[event["tid"]] = event["args"]["name"];
  }
  return rows;
}

TEST(Trace, HasEveryTaskInTheRowOfItsStream) {
  constexpr int kIterations = 5;
  Trace trace;
  SyntheticLearners learners(1, 2, {});
  const auto collective = make_local_collective();
  const auto sma = make_sma(learners.view(), *collective, {});
  TaskGraph graph;
  sma->add_tasks(graph);
  TaskRunner runner(std::move(graph), 100, 4, &trace);
  run(runner, kIterations);
  const json parsed = json::parse(trace.to_json());
  const std::map<int, std::string> rows = rows_of(parsed);
  std::map<std::string, std::set<int64_t>> iterations;  // by row and task
  std::map<int, double> last_end;
  for (const json& event : parsed["traceEvents"]) {
    if (event["ph"] != "X") continue;
    iterations[rows.at(event["tid"]) + ": " + event["name"].get<std::string>()].insert(
        event["args"]["iteration"].get<int64_t>());
    const double begin = event["ts"];
    const double duration = event["dur"];
    EXPECT_GE(duration, 0);
    EXPECT_GE(begin + 0.002, last_end[event["tid"]]);  // one after the other; rounded to ns
    last_end[event["tid"]] = begin + duration;
    const std::string category = event["cat"];
    EXPECT_THAT(category, testing::AnyOf("learn", "update", "average"));
  }
  const std::set<int64_t> all{100, 101, 102, 103, 104};
  const std::map<std::string, std::set<int64_t>> expected{{"learner 0: learn 0", all},   {"learner 0: update 0", all},
                                                          {"learner 0: average 0", all}, {"learner 1: learn 1", all},
                                                          {"learner 1: update 1", all},  {"learner 1: average 1", all}};
  EXPECT_EQ(iterations, expected);
  EXPECT_EQ(parsed["otherData"]["forgotten spans"], 0);
}

TEST(Trace, ForgetsTheOldestSpans) {
  Trace trace(4);
  Trace::Row& row = trace.row("a \"row\"\n");
  EXPECT_EQ(&row, &trace.row("a \"row\"\n"));
  const std::string& name = trace.keep("task");
  for (int64_t t = 0; t < 11; ++t) row.add(name, t, Trace::Clock::now(), Trace::Clock::now());
  row.add(name, Trace::kNoIteration, Trace::Clock::now(), Trace::Clock::now());
  const json parsed = json::parse(trace.to_json());
  EXPECT_EQ(rows_of(parsed).at(0), "a \"row\"\n");
  std::vector<int64_t> kept;
  for (const json& event : parsed["traceEvents"]) {
    if (event["ph"] == "X") kept.push_back(event.contains("args") ? event["args"]["iteration"].get<int64_t>() : -1);
  }
  EXPECT_THAT(kept, testing::ElementsAre(8, 9, 10, -1));
  EXPECT_EQ(parsed["otherData"]["forgotten spans"], 8);
}

TEST(Trace, RefusesAPathThatCannotBe) { EXPECT_THROW(Trace().write("/nonexistent/folder/trace.json"), Error); }

}  // namespace
}  // namespace arbalest
