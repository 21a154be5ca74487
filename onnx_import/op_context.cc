#include "onnx_import/op_context.h"

#include "graph/base/error.h"
#include "onnx_import/known_number.h"

namespace arbalest {

int64_t unrolled_steps(const Dim& steps) {
  if (!steps.is_constant()) {
    throw Error(ErrorKind::unsupported,
                "the number of time steps is the open size '{}'; give it a value (--dim {}=SIZE)", to_string(steps),
                to_string(steps));
  }
  require(steps.value() <= kMaxSteps, "{} time steps, at most {} can be unrolled", steps.value(), kMaxSteps);
  return steps.value();
}

std::vector<int64_t> OpContext::constant_integers(int i) {
  std::vector<int64_t> numbers;
  for (const Dim& d : contents(i)) {
    if (!d.is_constant()) {
      throw Error(ErrorKind::unsupported, "input {} depends on '{}', whose size is not known at import", i,
                  to_string(d));
    }
    numbers.push_back(d.value());
  }
  return numbers;
}

int64_t OpContext::constant_integer(int i) {
  const std::vector<int64_t> numbers = constant_integers(i);
  require(numbers.size() == 1, "input {} has {} elements, expected one", i, numbers.size());
  return numbers[0];
}

std::optional<std::vector<double>> OpContext::constant_numbers(int i) {
  const TensorPtr tensor = constant_tensor(i);
  if (!tensor) return known_numbers(input(i));
  const HostTensor wide = tensor->to(DataType::f64);
  return std::vector<double>(wide.as<double>().begin(), wide.as<double>().end());
}

std::optional<double> OpContext::constant_number(int i) {
  const auto numbers = constant_numbers(i);
  if (!numbers) return std::nullopt;
  require(numbers->size() == 1, "input {} has {} elements, expected one number", i, numbers->size());
  return numbers->front();
}

int64_t OpContext::required_integer(const std::string& name) {
  require(has_attribute(name), "attribute '{}' is missing", name);
  return attribute(name, int64_t{0});
}

std::vector<int64_t> OpContext::required_integers(const std::string& name) {
  require(has_attribute(name), "attribute '{}' is missing", name);
  return attribute(name, std::vector<int64_t>{});
}

std::optional<std::vector<int64_t>> OpContext::integers_attribute_or_input(const std::string& name, int input,
                                                                           int input_since) {
  if (version() < input_since) {
    if (!has_attribute(name)) return std::nullopt;
    return attribute(name, std::vector<int64_t>{});
  }
  if (!has_input(input)) return std::nullopt;
  return constant_integers(input);
}

}  // namespace arbalest
