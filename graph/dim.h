// A size that may depend on symbols: a polynomial with integer coefficients over symbols and over floor quotients.
//
// Two equal polynomials compare equal whatever the order they were built in: "2*N - N" is "N". Division by a constant
// that divides every coefficient is exact ("4*N / 2" is "2*N"); otherwise it stays as an atom "floor((N + 1)/2)".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace arbalest {

using Bindings = std::map<std::string, int64_t>;  // symbol -> size

class Dim {
 public:
  Dim() = default;     // 0
  Dim(int64_t value);  // NOLINT: a number is a size
  // A size that is at least `least`; a name always has the same one.
  static Dim symbol(const std::string& name, int64_t least = 1);

  bool is_constant() const;
  int64_t value() const;                                    // internal error if a symbol is left
  Dim bind(const Bindings& bindings) const;                 // symbols without a binding stay
  void add_symbols(std::vector<std::string>& names) const;  // those not in the list yet are appended

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floor_div(const Dim& a, const Dim& b);  // toward minus infinity; model error when b is 0
  friend Dim operator-(const Dim& a) { return Dim(0) - a; }
  friend bool operator==(const Dim& a, const Dim& b);
  friend std::string to_string(const Dim& d);
  friend std::optional<int64_t> lower_bound(const Dim& d);

 private:
  struct Atom;
  using Monomial = std::vector<std::shared_ptr<const Atom>>;  // sorted by text; the empty product is 1
  struct Term;
  Dim(std::vector<Term> terms);
  static int compare(const Monomial& a, const Monomial& b);

  std::shared_ptr<const std::vector<Term>> terms_;  // null: constant_ only
  int64_t constant_ = 0;
};

Dim ceil_div(const Dim& a, const Dim& b);
// A value that d never falls below, given what every symbol is at least (0 or more: they are sizes); none if none can
// be shown term by term.
std::optional<int64_t> lower_bound(const Dim& d);

}  // namespace arbalest
