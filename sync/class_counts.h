// What the scores of a classifier say of its labels: how often the right class is among the k best, and which class is
// taken for which.
//
// Scores are dense, outer x classes x inner; labels outer x inner. The predicted class is the first of those with the
// greatest score, and of equal scores the one of the lower class ranks higher. A label outside [0, classes), such as
// one that is to be ignored, counts nowhere; nor is a score that is not a number among the best.
#pragma once

#include <cstdint>
#include <vector>

namespace arbalest {

class ClassCounts {
 public:
  ClassCounts() = default;                                 // counts nothing
  ClassCounts(int64_t classes, int best, bool confusion);  // best: k, 0: not counted

  // T: float or double.
  template <class T>
  void add(const T* scores, const int64_t* labels, int64_t outer, int64_t inner);
  void add(const ClassCounts& other);  // of the same kind

  int64_t classes() const { return classes_; }
  int64_t among_best() const { return among_best_; }
  // Element label * classes + prediction; empty where it is not counted.
  const std::vector<int64_t>& confusion() const { return confusion_; }

 private:
  int64_t classes_ = 0;
  int best_ = 0;
  int64_t among_best_ = 0;
  std::vector<int64_t> confusion_;
};

}  // namespace arbalest
