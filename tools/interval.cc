#include "tools/interval.h"

#include <charconv>

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

CLI::Option* add_interval_option(CLI::App& command, const std::string& name,
                                 const std::function<void(const Interval&)>& set, const std::string& help) {
  const auto read_text = [name, set](const std::string& text) {
    Interval interval;
    if (!parse(text, interval))
      throw CLI::ValidationError(name, "'" + text + "' is neither epochs, as 0.25, nor iterations, as 500it");
    set(interval);
  };
  return command.add_option_function<std::string>(name, read_text, help)->type_name("EPOCHS or ITERATIONSit");
}

}  // namespace arbalest::tools
