#include "tools/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/table.h"

namespace arbalest::tools {
namespace {

double largest(const HostTensor& t) {
  const HostTensor wide = t.to(DataType::f64);
  double m = 0;
  for (double v : wide.as<double>()) m = std::max(m, std::abs(v));
  return m;
}

double difference(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  return std::isfinite(got) && std::isfinite(want) ? std::abs(got - want) : INFINITY;
}

}  // namespace

Tensors with_prefix(const Tensors& all, const std::string& prefix) {
  Tensors some;
  for (const auto& [name, value] : all)
    if (name.starts_with(prefix)) some.emplace(name.substr(prefix.size()), value);
  return some;
}

void Comparison::set_floor(const Tensors& all) {
  floor_ = 0;
  for (const auto& [name, value] : all) floor_ = std::max(floor_, 0.01 * largest(value));
}

void Comparison::add(const std::string& name, const HostTensor& got, const HostTensor& want) {
  ++count_;
  if (got.dims != want.dims)
    return fail(name, fmt::format("got {}, expected {}", to_string(got.dims), to_string(want.dims)));
  const HostTensor a = got.to(DataType::f64), b = want.to(DataType::f64);
  const double scale = std::max(largest(want) + floor_, 1e-30);
  double error = 0;
  for (size_t i = 0; i < b.as<double>().size(); ++i) {
    const double d = difference(a.as<double>()[i], b.as<double>()[i]);
    if (d == 0) continue;
    const double allowed = tolerance_.absolute + tolerance_.relative * std::abs(b.as<double>()[i]);
    error = std::max(error, tolerance_.of_tensor ? d / scale : d / allowed);
  }
  if (error >= worst_ && (error > worst_ || worst_name_.empty())) worst_ = error, worst_name_ = name;
}

void Comparison::add_all(const Tensors& got, const Tensors& want) {
  for (const auto& [name, value] : want) {
    const auto found = got.find(name);
    if (found == got.end()) {
      fail(name, "is not there");
    } else {
      add(name, found->second, value);
    }
  }
}

bool report(const std::vector<Comparison>& comparisons) {
  Table table({"quantity", ">tensors", ">error", ">tolerance", "", "worst"});
  bool good = true;
  std::string failures;
  for (const Comparison& c : comparisons) {
    if (c.empty()) continue;
    table.add({c.quantity(), std::to_string(c.count()), fmt::format("{:.1e}", c.worst()),
               fmt::format("{:.1e}", c.limit()), c.passes() ? "ok" : "FAILS", c.worst_name()});
    for (const std::string& f : c.failures()) failures += c.quantity() + " " + f + "\n";
    good = good && c.passes();
  }
  fmt::print("{}{}", table.text(), failures);
  return good;
}

HostTensor scalar(double value) {
  const auto f = static_cast<float>(value);
  return HostTensor::f32({}, {&f, 1});
}

HostTensor list_of(const std::vector<double>& values) {
  return HostTensor::f32({static_cast<int64_t>(values.size())}, std::vector<float>(values.begin(), values.end()));
}

}  // namespace arbalest::tools
