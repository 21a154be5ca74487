// In which iterations the learners are synchronised: at the end of every tau, where tau may change with the iterations.
//
// Written "8", or "1,2000:8": tau 1, from iteration 2000 on 8. A part counts anew from its first iteration: with tau 3
// from iteration 100 on, 102 is the first of them that synchronises.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace arbalest {

class TauSchedule {
 public:
  struct Part {
    int64_t from = 0;  // iteration; 0 in the first part, then increasing
    int64_t tau = 1;   // at least 1
  };
  TauSchedule(int64_t tau = 1) : TauSchedule(std::vector<Part>{{0, tau}}) {}  // a number is a schedule
  explicit TauSchedule(std::vector<Part> parts);                              // usage error for an impossible one
  static TauSchedule parse(const std::string& text);                          // usage error

  bool synchronises(int64_t iteration) const;
  // Synchronisations in the iterations before this one.
  int64_t count_before(int64_t iteration) const;
  // The iteration after the last one before this that synchronised; 0 before the first.
  int64_t begin_of(int64_t iteration) const;
  std::string text() const;

 private:
  std::vector<Part> parts_;
};

}  // namespace arbalest
