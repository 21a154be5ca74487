#include "sync/tau_schedule.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "graph/base/error.h"

namespace arbalest {
namespace {

int64_t whole_number(std::string_view digits, const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw Error(ErrorKind::usage, "tau '{}': '{}' is not a whole number; write for example 8, or 1,2000:8", text,
                digits);
  }
  return number;
}

}  // namespace

TauSchedule::TauSchedule(std::vector<Part> parts) : parts_(std::move(parts)) {
  int64_t next = 0;
  for (const Part& part : parts_) {
    if (part.tau < 1) throw Error(ErrorKind::usage, "tau {}: must be at least 1", part.tau);
    if (part.from < next || (&part == &parts_[0] && part.from != 0)) {
      throw Error(ErrorKind::usage, "tau from iteration {}: the parts must begin at 0 and increase", part.from);
    }
    next = part.from + 1;
  }
  if (parts_.empty()) throw Error(ErrorKind::usage, "tau: needs a value");
}

TauSchedule TauSchedule::parse(const std::string& text) {
  std::vector<Part> parts;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    int64_t from = 0;
    if (const size_t colon = part.find(':'); colon != std::string_view::npos) {
      from = whole_number(part.substr(0, colon), text);
      part.remove_prefix(colon + 1);
    }
    parts.push_back({from, whole_number(part, text)});
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return TauSchedule(std::move(parts));
}

bool TauSchedule::synchronises(int64_t iteration) const {
  size_t p = parts_.size() - 1;
  while (p > 0 && parts_[p].from > iteration) --p;
  return (iteration - parts_[p].from) % parts_[p].tau == parts_[p].tau - 1;
}

int64_t TauSchedule::count_before(int64_t iteration) const {
  int64_t count = 0;
  for (size_t p = 0; p < parts_.size() && parts_[p].from < iteration; ++p) {
    const int64_t end = p + 1 < parts_.size() ? std::min(parts_[p + 1].from, iteration) : iteration;
    count += (end - parts_[p].from) / parts_[p].tau;
  }
  return count;
}

int64_t TauSchedule::begin_of(int64_t iteration) const {
  for (size_t p = parts_.size(); p-- > 0;) {
    if (parts_[p].from >= iteration) continue;
    const int64_t end = p + 1 < parts_.size() ? std::min(parts_[p + 1].from, iteration) : iteration;
    const int64_t whole = (end - parts_[p].from) / parts_[p].tau;
    if (whole > 0) return parts_[p].from + whole * parts_[p].tau;
  }
  return 0;
}

std::string TauSchedule::text() const {
  std::string text;
  for (const Part& part : parts_) {
    text += part.from == 0 ? std::to_string(part.tau) : fmt::format(",{}:{}", part.from, part.tau);
  }
  return text;
}

}  // namespace arbalest
