#include "exec/optimiser/average.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exec/optimiser/average.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace arbalest::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Pointers = std::span<const float* const>;

// Calls body(tag, i) for every vector of [begin, end), then for every element that is left.
template <class Body>
void for_each_vector(int64_t begin, int64_t end, const Body& body) {
  const hn::ScalableTag<float> wide;
  const hn::CappedTag<float, 1> narrow;
  int64_t i = begin;
  for (const auto lanes = static_cast<int64_t>(hn::Lanes(wide)); i + lanes <= end; i += lanes) body(wide, i);
  for (; i < end; ++i) body(narrow, i);
}

template <class D>
hn::Vec<D> sum_at(D d, Pointers x, int64_t i) {
  auto sum = hn::LoadU(d, x[0] + i);
  for (size_t j = 1; j < x.size(); ++j) sum = hn::Add(sum, hn::LoadU(d, x[j] + i));
  return sum;
}

template <class D>
hn::Vec<D> difference_at(D d, Pointers x, hn::Vec<D> z, int64_t i) {
  auto sum = hn::Sub(hn::LoadU(d, x[0] + i), z);
  for (size_t j = 1; j < x.size(); ++j) sum = hn::Add(sum, hn::Sub(hn::LoadU(d, x[j] + i), z));
  return sum;
}

// z + alpha difference + mu (z - previous)
template <class D>
hn::Vec<D> next_average(D d, hn::Vec<D> difference, hn::Vec<D> z, hn::Vec<D> previous, float alpha, float mu) {
  return hn::MulAdd(hn::Set(d, alpha), difference, hn::MulAdd(hn::Set(d, mu), hn::Sub(z, previous), z));
}

void sum_of(Pointers x, float scale, float* out, int64_t begin, int64_t end) {
  for_each_vector(begin, end, [=](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(sum_at(d, x, i), hn::Set(d, scale)), d, out + (i - begin));
  });
}

void sum_differences(Pointers x, const float* z, float* out, int64_t begin, int64_t end) {
  for_each_vector(begin, end, [=](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(difference_at(d, x, hn::LoadU(d, z + i), i), d, out + i);
  });
}

void average_models(Pointers x, const float* z, const float* z_previous, float* z_next, float alpha, float mu,
                    int64_t begin, int64_t end) {
  for_each_vector(begin, end, [=](auto d, int64_t i) HWY_ATTR {
    const auto now = hn::LoadU(d, z + i);
    const auto previous = hn::LoadU(d, z_previous + i);
    hn::StoreU(next_average(d, difference_at(d, x, now, i), now, previous, alpha, mu), d, z_next + i);
  });
}

void apply_differences(const float* difference, const float* z, const float* z_previous, float* z_next, float alpha,
                       float mu, int64_t begin, int64_t end) {
  for_each_vector(begin, end, [=](auto d, int64_t i) HWY_ATTR {
    const auto now = hn::LoadU(d, z + i);
    const auto previous = hn::LoadU(d, z_previous + i);
    hn::StoreU(next_average(d, hn::LoadU(d, difference + i), now, previous, alpha, mu), d, z_next + i);
  });
}

}  // namespace arbalest::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace arbalest {
namespace {
HWY_EXPORT(sum_of);
HWY_EXPORT(sum_differences);
HWY_EXPORT(average_models);
HWY_EXPORT(apply_differences);
}  // namespace

void sum_of(std::span<const float* const> x, float scale, float* out, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(sum_of)(x, scale, out, begin, end);
}

void sum_differences(std::span<const float* const> x, const float* z, float* out, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(sum_differences)(x, z, out, begin, end);
}

void average_models(std::span<const float* const> x, const float* z, const float* z_previous, float* z_next,
                    float alpha, float mu, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(average_models)(x, z, z_previous, z_next, alpha, mu, begin, end);
}

void apply_differences(const float* difference, const float* z, const float* z_previous, float* z_next, float alpha,
                       float mu, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(apply_differences)(difference, z, z_previous, z_next, alpha, mu, begin, end);
}

}  // namespace arbalest
#endif  // HWY_ONCE
