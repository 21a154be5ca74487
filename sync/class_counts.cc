#include "sync/class_counts.h"

#include <algorithm>
#include <functional>

namespace arbalest {
namespace {

// Scores of one position: `classes` elements, `step` apart.
template <class T>
int64_t predicted_class(const T* scores, int64_t classes, int64_t step) {
  int64_t best = 0;
  for (int64_t c = 1; c < classes; ++c)
    if (scores[c * step] > scores[best * step]) best = c;
  return best;
}

template <class T>
bool is_among_best(const T* scores, int64_t classes, int64_t step, int64_t label, int best) {
  const T own = scores[label * step];
  int64_t ahead = 0;
  for (int64_t c = 0; c < label; ++c) ahead += scores[c * step] >= own ? 1 : 0;
  for (int64_t c = label + 1; c < classes; ++c) ahead += scores[c * step] > own ? 1 : 0;
  return ahead < best && own == own;
}

}  // namespace

ClassCounts::ClassCounts(int64_t classes, int best, bool confusion)
    : classes_(classes), best_(best), confusion_(confusion ? static_cast<size_t>(classes * classes) : 0) {}

template <class T>
void ClassCounts::add(const T* scores, const int64_t* labels, int64_t outer, int64_t inner) {
  for (int64_t o = 0; o < outer; ++o, scores += classes_ * inner) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t label = *labels++;
      if (label < 0 || label >= classes_) continue;
      if (best_ > 0) among_best_ += is_among_best(scores + i, classes_, inner, label, best_) ? 1 : 0;
      if (confusion_.empty()) continue;
      ++confusion_[static_cast<size_t>(label * classes_ + predicted_class(scores + i, classes_, inner))];
    }
  }
}

template void ClassCounts::add(const float*, const int64_t*, int64_t, int64_t);
template void ClassCounts::add(const double*, const int64_t*, int64_t, int64_t);

void ClassCounts::add(const ClassCounts& other) {
  among_best_ += other.among_best_;
  std::transform(confusion_.begin(), confusion_.end(), other.confusion_.begin(), confusion_.begin(), std::plus<>());
}

}  // namespace arbalest
