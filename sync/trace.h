// What ran when: spans of time in rows, written as a Chrome trace (also read by Perfetto).
//
// A row is recorded by one thread, of which only it knows: recording is a store into memory that was taken before, and
// nothing waits. Memory is bounded: a full row forgets its oldest spans. Spans of one row that lie inside each other
// are shown so. Rows are added, and the trace is written, while nothing records.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace arbalest {

// "update 1" -> "update"
std::string category_of(const std::string& task);

class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr int64_t kNoIteration = -1;

  class Row {
   public:
    Row(std::string name, size_t spans) : name_(std::move(name)), spans_(spans) {}
    // `what` must live as long as the trace.
    void add(const std::string& what, int64_t iteration, Clock::time_point begin, Clock::time_point end) {
      spans_[count_++ % spans_.size()] = {&what, iteration, begin, end};
    }
    const std::string& name() const { return name_; }

   private:
    friend class Trace;
    struct Span {
      const std::string* what = nullptr;
      int64_t iteration = kNoIteration;
      Clock::time_point begin, end;
    };
    std::string name_;
    std::vector<Span> spans_;
    size_t count_ = 0;  // recorded, also those that are forgotten
  };

  explicit Trace(size_t spans_of_a_row = size_t{1} << 16);
  // The row of that name; new, where there is none yet. Stays where it is.
  Row& row(const std::string& name);
  // A name that lives as long as the trace.
  const std::string& keep(const std::string& name);

  // Seconds of the recorded spans by category: the name without the number at its end.
  std::map<std::string, std::vector<double>> durations() const;

  // The JSON text of the trace event format: complete events ("ph": "X") in microseconds since the trace was made, each
  // with its category.
  std::string to_json() const;
  void write(const std::string& path) const;  // io error

 private:
  const size_t spans_of_a_row_;
  const Clock::time_point begin_;
  std::vector<std::unique_ptr<Row>> rows_;
  std::vector<std::unique_ptr<std::string>> names_;
};

}  // namespace arbalest
