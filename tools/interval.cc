#include "tools/interval.h"

#include <charconv>

#include "graph/base/error.h"

namespace arbalest::tools {
namespace {

constexpr int64_t kMostIterations = 1'000'000'000'000;
constexpr double kFewestEpochs = 1e-4, kMostEpochs = 1e9;

template <class T>
bool read(const std::string& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0;
}

bool parse(const std::string& text, Interval& interval) {
  if (text.ends_with("it"))
    return read(text.substr(0, text.size() - 2), interval.iterations) && interval.iterations <= kMostIterations;
  return read(text, interval.epochs) && interval.epochs >= kFewestEpochs && interval.epochs <= kMostEpochs;
}

}  // namespace

Interval parse_interval(const std::string& text) {
  Interval interval;
  if (!parse(text, interval))
    throw Error(ErrorKind::usage, "'{}': give epochs, for example 0.25, or iterations, for example 500it", text);
  return interval;
}

CLI::Validator interval_text() {
  return CLI::Validator(
      [](std::string& text) {
        Interval interval;
        return parse(text, interval) ? std::string()
                                     : "'" + text + "' is neither epochs, as 0.25, nor iterations, as 500it";
      },
      "EPOCHS or ITERATIONSit");
}

}  // namespace arbalest::tools
