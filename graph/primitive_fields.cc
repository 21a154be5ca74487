#include "graph/primitive_fields.h"

#include <bit>
#include <cstring>
#include <type_traits>

namespace arbalest {

namespace {

constexpr size_t kShownElements = 8;

std::string text(bool b) { return b ? "yes" : "no"; }
std::string text(int i) { return std::to_string(i); }
std::string text(int64_t i) { return std::to_string(i); }
std::string text(float f) { return fmt::format("{}", f); }
std::string text(double f) { return fmt::format("{}", f); }
std::string text(DataType t) { return std::string(name_of(t)); }
std::string text(const Dim& d) { return to_string(d); }
std::string text(const Scalar& e) { return to_string(e); }

std::string text(Reduction r) {
  static constexpr const char* kNames[] = {"sum", "mean", "max", "min", "prod"};
  return kNames[static_cast<size_t>(r)];
}

std::string text(ScatterReduction r) {
  static constexpr const char* kNames[] = {"set", "add", "mul", "max", "min"};
  return kNames[static_cast<size_t>(r)];
}

std::string text(LossReduction r) {
  static constexpr const char* kNames[] = {"none", "sum", "mean"};
  return kNames[static_cast<size_t>(r)];
}

template <class T>
std::string text(const std::optional<T>& o) {
  return o ? text(*o) : "none";
}

template <class T>
std::string text(const std::vector<T>& list) {
  std::string result;
  for (size_t i = 0; i < list.size() && i < kShownElements; ++i) {
    result += (i == 0 ? "" : ", ") + text(list[i]);
  }
  return "[" + result + (list.size() > kShownElements ? ", ...]" : "]");
}

std::string text(const TensorPtr& t) {
  if (!t) return "none";
  // Only the elements that are shown are converted.
  HostTensor head(t->dtype, {std::min<int64_t>(t->element_count(), kShownElements + 1)});
  if (!head.bytes.empty()) std::memcpy(head.bytes.data(), t->bytes.data(), head.bytes.size());
  if (is_float(t->dtype)) {
    const HostTensor wide = head.to(t->dtype == DataType::f64 ? DataType::f64 : DataType::f32);
    if (t->dtype != DataType::f64) return text(std::vector<float>(wide.as<float>().begin(), wide.as<float>().end()));
    return text(std::vector<double>(wide.as<double>().begin(), wide.as<double>().end()));
  }
  const HostTensor wide = head.to(DataType::i64);
  return text(std::vector<int64_t>(wide.as<int64_t>().begin(), wide.as<int64_t>().end()));
}

bool same(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }
bool same(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }
bool same(const TensorPtr& a, const TensorPtr& b) { return a == b || (a && b && *a == *b); }
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}

size_t combined_hash(size_t seed, size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29); }

template <class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) size_t hash_of(T i) { return static_cast<size_t>(i); }
size_t hash_of(float f) { return std::bit_cast<uint32_t>(f); }
size_t hash_of(double f) { return std::bit_cast<uint64_t>(f); }
size_t hash_of(const Dim& d) { return d.is_constant() ? hash_of(d.value()) : std::hash<std::string>{}(to_string(d)); }
size_t hash_of(const Scalar& e) { return e.hash(); }

template <class T>
size_t hash_of(const std::optional<T>& o) {
  return o ? combined_hash(1, hash_of(*o)) : 0;
}

template <class T>
size_t hash_of(const std::vector<T>& list) {
  size_t h = list.size();
  for (const T& e : list) h = combined_hash(h, hash_of(e));
  return h;
}

size_t hash_of(const TensorPtr& t) {
  if (!t) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(t->bytes.data()), t->bytes.size());
  return combined_hash(combined_hash(hash_of(t->dtype), hash_of(t->dims)), std::hash<std::string_view>{}(bytes));
}

template <class P, class F>
void for_each_field(P& primitive, F&& f) {
  std::visit([&](auto& p) { p.fields(p, f); }, primitive);
}

// Calls f with every Dim among the attributes.
template <class P, class F>
void for_each_dim(P& primitive, F&& f) {
  for_each_field(primitive, [&](const char*, auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, Dim>) {
      f(field);
    } else if constexpr (std::is_base_of_v<std::vector<Dim>, Field>) {
      for (auto& d : field) f(d);
    }
  });
}

}  // namespace

std::string fields_text(const Primitive& primitive) {
  std::string result;
  for_each_field(primitive, [&](const char* name, const auto& field) {
    result += fmt::format("{}{} {}", result.empty() ? "" : ", ", name, text(field));
  });
  return result.empty() ? "" : "{" + result + "}";
}

bool equal(const Primitive& a, const Primitive& b) {
  if (a.index() != b.index()) return false;
  bool result = true;
  std::visit(
      [&](const auto& p) {
        using P = std::decay_t<decltype(p)>;
        const P& q = std::get<P>(b);
        std::vector<const void*> others;
        P::fields(q, [&](const char*, const auto& field) { others.push_back(&field); });
        size_t i = 0;
        P::fields(p, [&](const char*, const auto& field) {
          using F = std::decay_t<decltype(field)>;
          result = result && same(field, *static_cast<const F*>(others[i++]));
        });
      },
      a);
  return result;
}

size_t hash(const Primitive& primitive) {
  size_t h = primitive.index() + 1;
  for_each_field(primitive, [&](const char*, const auto& field) { h = combined_hash(h, hash_of(field)); });
  return h;
}

TensorPtr tensor_of(const ShapeTensor& p) {
  HostTensor t(DataType::i64, p.shape.dims());
  const auto elements = t.as<int64_t>();
  ensure(elements.size() == p.values.size(), "{} values of a shape tensor of {}", p.values.size(), to_string(p.shape));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = p.values[i].value();
  return std::make_shared<const HostTensor>(t.to(p.dtype));
}

void bind(Primitive& primitive, const Bindings& bindings) {
  for_each_dim(primitive, [&](Dim& d) { d = d.bind(bindings); });
  const auto* shape = std::get_if<ShapeTensor>(&primitive);
  if (!shape || !shape->shape.is_static()) return;
  for (const Dim& d : shape->values) {
    if (!d.is_constant()) return;
  }
  primitive = Constant{tensor_of(*shape)};
}

void add_symbols(const Primitive& primitive, std::vector<std::string>& names) {
  for_each_dim(primitive, [&](const Dim& d) { d.add_symbols(names); });
}

}  // namespace arbalest
