#include "sync/model_average.h"

#include <algorithm>

namespace arbalest {
namespace {

std::span<float> floats(AlignedBytes& bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// a <- a + part (w - a)
void move_towards(const float* w, float part, std::span<float> a) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += part * (w[i] - a[i]);
}

}  // namespace

ModelAverage::ModelAverage(const Plan& plan, std::optional<double> decay)
    : decay_(decay), weights_(plan.parameters()->bytes()), statistics_(plan.states()->bytes()) {}

void ModelAverage::add(const ModelView& model) {
  const std::span<float> weights = floats(weights_), statistics = floats(statistics_);
  if (count_ == 0) {
    std::copy_n(model.weights, weights.size(), weights.begin());
    std::copy_n(model.statistics, statistics.size(), statistics.begin());
  } else {
    const double part = decay_ ? 1 - *decay_ : 1 / static_cast<double>(count_ + 1);
    move_towards(model.weights, static_cast<float>(part), weights);
    move_towards(model.statistics, static_cast<float>(part), statistics);
  }
  ++count_;
}

ModelView ModelAverage::view() const {
  return {reinterpret_cast<const float*>(weights_.data()), reinterpret_cast<const float*>(statistics_.data())};
}

std::vector<NamedBytes> ModelAverage::arrays() {
  return {named_bytes("count", std::span(&count_, 1)), named_bytes("weights", floats(weights_)),
          named_bytes("statistics", floats(statistics_))};
}

}  // namespace arbalest
