#include "sync/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/atomic_file.h"

namespace arbalest {
namespace {

// A JSON string.
std::string json_string(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

double microseconds(Trace::Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

std::string category_of(const std::string& name) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last == std::string::npos || last + 1 == name.size() || name[last] != ' ') return name;
  return name.substr(0, last);
}

Trace::Trace(size_t spans_of_a_row) : spans_of_a_row_(std::max<size_t>(spans_of_a_row, 1)), begin_(Clock::now()) {}

Trace::Row& Trace::row(const std::string& name) {
  for (const auto& row : rows_) {
    if (row->name() == name) return *row;
  }
  rows_.push_back(std::make_unique<Row>(name, spans_of_a_row_));
  return *rows_.back();
}

const std::string& Trace::keep(const std::string& name) {
  names_.push_back(std::make_unique<std::string>(name));
  return *names_.back();
}

std::map<std::string, std::vector<double>> Trace::durations() const {
  std::map<std::string, std::vector<double>> durations;
  for (const auto& row : rows_) {
    for (size_t i = 0; i < std::min(row->count_, row->spans_.size()); ++i) {
      const Row::Span& span = row->spans_[i];
      durations[category_of(*span.what)].push_back(std::chrono::duration<double>(span.end - span.begin).count());
    }
  }
  return durations;
}

std::string Trace::to_json() const {
  std::string text = "{\"displayTimeUnit\": \"ms\",\n\"traceEvents\": [\n";
  text += R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "arbalest"}})";
  size_t forgotten = 0;
  for (size_t r = 0; r < rows_.size(); ++r) {
    const Row& row = *rows_[r];
    text += fmt::format(
        ",\n"
        R"({{"ph": "M", "name": "thread_name", "pid": 1, "tid": {}, "args": {{"name": {}}}}})",
        r, json_string(row.name_));
    const size_t kept = std::min(row.count_, row.spans_.size());
    forgotten += row.count_ - kept;
    for (size_t i = row.count_ - kept; i < row.count_; ++i) {
      const Row::Span& span = row.spans_[i % row.spans_.size()];
      text += fmt::format(R"(,{}{{"ph": "X", "name": {}, "cat": {}, "pid": 1, "tid": {}, "ts": {:.3f}, "dur": {:.3f})",
                          '\n', json_string(*span.what), json_string(category_of(*span.what)), r,
                          microseconds(span.begin - begin_), microseconds(span.end - span.begin));
      if (span.iteration != kNoIteration) text += fmt::format(R"(, "args": {{"iteration": {}}})", span.iteration);
      text += '}';
    }
  }
  return text + fmt::format("\n],\n\"otherData\": {{\"forgotten spans\": {}}}}}\n", forgotten);
}

void Trace::write(const std::string& path) const {
  AtomicFile file(path);
  file.write(to_json());
  file.commit();
}

}  // namespace arbalest
