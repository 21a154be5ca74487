// Every operator that docs/operators.md gives a gradient has a gradient check that passed, and none of the others has
// one; every operator was computed in each of the types that it has there. Looked at when all tests of the program have
// run; not when only some were asked for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "onnx_import/support.h"
#include "tests/onnx_import/operator_check.h"
#include "tests/onnx_import/operator_types.h"

namespace arbalest {
namespace {

std::string shown(const OperatorSupport& o) { return o.domain.empty() ? o.name : o.domain + "." + o.name; }

std::string types_not_computed() {
  std::string all;
  for (const OperatorSupport& o : supported_operators()) {
    if (o.name == "Gradient") continue;  // of a model, not of operands; training_operators.cc has it in float64 only
    for (const DataType t : types_left(o.domain, o.name)) {
      const auto& tried = tried_types().at({o.domain, o.name});
      const auto failure = tried.find(t);
      all += fmt::format("{}, {}: {}\n", shown(o), name_of(t), failure == tried.end() ? "no row" : failure->second);
    }
  }
  return all;
}

class OperatorCoverage : public testing::Environment {
  void TearDown() override {
    const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
    if (tests.test_to_run_count() != tests.total_test_count()) return;
    const CheckedOperators& checked = checked_operators();
    std::string missing, surplus;
    for (const OperatorSupport& o : supported_operators()) {
      const auto found = checked.find({o.domain, o.name});
      if (o.has_gradient && found == checked.end()) missing += " " + shown(o);
      if (!o.has_gradient && found != checked.end() && found->second) surplus += " " + shown(o);
    }
    EXPECT_EQ(missing, "") << "have a gradient (onnx_import/support.cc), but no gradient check that passes";
    EXPECT_EQ(surplus, "") << "have a gradient check, but no gradient in onnx_import/support.cc";
    EXPECT_EQ(types_not_computed(), "") << "have a type (onnx_import/support.cc) in which nothing was computed";
  }
};

[[maybe_unused]] testing::Environment* const kCoverage = testing::AddGlobalTestEnvironment(new OperatorCoverage);

}  // namespace
}  // namespace arbalest
