#include "data/normalisation.h"

#include <algorithm>
#include <cmath>

namespace arbalest {
namespace {

size_t channel_count(const Column& input) {
  const Dims sample = input.sample();
  const bool one = sample.empty() || (sample.size() == 1 && input.values.dtype == DataType::u8);
  return one ? 1 : static_cast<size_t>(sample[0]);
}

// Calls f(channel, values of one example in that channel) through the whole column.
template <class T, class F>
void for_each_channel(const Column& input, F f) {
  const std::span<const T> values = input.values.as<T>();
  const size_t channels = channel_count(input);
  const size_t length = static_cast<size_t>(input.sample_elements()) / channels;
  for (size_t at = 0; at < values.size();) {
    for (size_t c = 0; c < channels; ++c, at += length) f(c, values.subspan(at, length));
  }
}

ChannelStatistics measure_bytes(const Column& input) {
  const size_t channels = channel_count(input);
  std::vector<uint64_t> sum(channels), squares(channels);
  for_each_channel<uint8_t>(input, [&](size_t c, std::span<const uint8_t> values) {
    constexpr size_t kChunk = 1 << 16;  // 2^16 squares of bytes fit in 32 bits
    for (size_t begin = 0; begin < values.size(); begin += kChunk) {
      uint32_t chunk_sum = 0, chunk_squares = 0;
      for (const uint8_t x : values.subspan(begin, std::min(kChunk, values.size() - begin))) {
        chunk_sum += x;
        chunk_squares += uint32_t{x} * x;
      }
      sum[c] += chunk_sum;
      squares[c] += chunk_squares;
    }
  });
  ChannelStatistics s;
  const double n = static_cast<double>(input.values.bytes.size()) / static_cast<double>(channels);
  for (size_t c = 0; c < channels; ++c) {
    const double mean = static_cast<double>(sum[c]) / n;
    const double variance = static_cast<double>(squares[c]) / n - mean * mean;
    s.mean.push_back(mean / 255);
    s.deviation.push_back(std::sqrt(std::max(0.0, variance)) / 255);
  }
  return s;
}

void check_finite(const Column& input) {
  const std::span<const float> values = input.values.as<float>();
  const auto bad = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  if (bad == values.end()) return;
  throw Error(ErrorKind::io, "'{}' has the value {} at example {}; remove or replace it", input.name, *bad,
              (bad - values.begin()) / input.sample_elements());
}

// Two passes, so that a mean far from 0 costs no digits of the deviation.
ChannelStatistics measure_floats(const Column& input) {
  const size_t channels = channel_count(input);
  const double n = static_cast<double>(input.values.element_count()) / static_cast<double>(channels);
  ChannelStatistics s{std::vector<double>(channels), std::vector<double>(channels)};
  for_each_channel<float>(input, [&](size_t c, std::span<const float> values) {
    for (const float x : values) s.mean[c] += x;
  });
  for (double& mean : s.mean) mean /= n;
  for_each_channel<float>(input, [&](size_t c, std::span<const float> values) {
    for (const float x : values) s.deviation[c] += (x - s.mean[c]) * (x - s.mean[c]);
  });
  for (double& deviation : s.deviation) deviation = std::sqrt(deviation / n);
  return s;
}

}  // namespace

Normalisation measure(const Dataset& training_set) {
  Normalisation normalisation;
  for (const Column& input : training_set.inputs) {
    const bool bytes = input.values.dtype == DataType::u8;
    if (!bytes) {
      try {
        check_finite(input);
      } catch (const Error& e) {
        throw e.within(training_set.name);
      }
    }
    normalisation.push_back(bytes ? measure_bytes(input) : measure_floats(input));
    for (double& deviation : normalisation.back().deviation) {
      if (deviation == 0) deviation = 1;
    }
  }
  return normalisation;
}

Normalisation no_normalisation(const Dataset& dataset) {
  Normalisation normalisation;
  for (const Column& input : dataset.inputs) {
    const size_t channels = channel_count(input);
    normalisation.push_back({std::vector<double>(channels, 0.0), std::vector<double>(channels, 1.0)});
  }
  return normalisation;
}

}  // namespace arbalest
