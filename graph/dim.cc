#include "graph/dim.h"

#include <algorithm>
#include <numeric>

#include "graph/base/error.h"

namespace arbalest {

namespace {

// Bounds that no real model comes near; they keep a hostile one from exhausting memory.
constexpr size_t kMaxTextLength = 4096;
constexpr size_t kMaxProductTerms = 4096;
constexpr size_t kMaxQuotientTerms = 64;

int64_t checked_add(int64_t a, int64_t b) {
  int64_t r = 0;
  require(!__builtin_add_overflow(a, b, &r), "size: {} + {} does not fit 64 bits", a, b);
  return r;
}

int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t r = 0;
  require(!__builtin_mul_overflow(a, b, &r), "size: {} * {} does not fit 64 bits", a, b);
  return r;
}

// b > 0
int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

// A symbol, or the quotient floor(numerator / denominator).
struct Dim::Atom {
  std::string text;  // of a symbol: its name
  Dim numerator;
  Dim denominator;    // 0 marks a symbol
  int64_t least = 1;  // of a symbol

  bool is_symbol() const { return denominator.is_constant() && denominator.constant_ == 0; }

  static std::shared_ptr<const Atom> quotient(const Dim& numerator, const Dim& denominator);

  // By text, so that the order is the same in every run. A symbol may be called like the text of another atom, hence
  // the rest.
  static int compare(const Atom& a, const Atom& b);
};

struct Dim::Term {
  Monomial monomial;
  int64_t coefficient = 0;

  // All terms, the constant last.
  static std::vector<Term> all_of(const Dim& d) {
    std::vector<Term> terms;
    if (d.terms_) terms = *d.terms_;
    if (d.constant_ != 0 || terms.empty()) terms.push_back({{}, d.constant_});
    return terms;
  }

  static Term product(const Term& a, const Term& b) {
    Term r{a.monomial, checked_multiply(a.coefficient, b.coefficient)};
    r.monomial.insert(r.monomial.end(), b.monomial.begin(), b.monomial.end());
    std::sort(r.monomial.begin(), r.monomial.end(),
              [](const auto& x, const auto& y) { return Atom::compare(*x, *y) < 0; });
    return r;
  }

  // a / b when b divides a.
  static bool divides(const Term& b, const Term& a, Term& quotient) {
    if (a.coefficient % b.coefficient != 0) return false;
    quotient = {{}, a.coefficient / b.coefficient};
    size_t used = 0;
    for (const auto& atom : a.monomial) {
      if (used < b.monomial.size() && Atom::compare(*atom, *b.monomial[used]) == 0)
        ++used;
      else
        quotient.monomial.push_back(atom);
    }
    return used == b.monomial.size();
  }

  // Long division; the terms are in a monomial order (graded lexicographic), so it finds the quotient if there is one.
  static bool divides_exactly(const Dim& b, const Dim& a, Dim& quotient) {
    const Term lead = all_of(b).front();
    std::vector<Term> result;
    for (Dim rest = a; !(rest == Dim(0));) {
      Term q;
      if (result.size() == kMaxQuotientTerms || !divides(lead, all_of(rest).front(), q)) return false;
      result.push_back(q);
      rest = rest - Dim({q}) * b;
    }
    quotient = Dim(std::move(result));
    return true;
  }

  std::optional<int64_t> lower_bound() const;

  // Is this term floor(x / b) with constant b?
  bool is_constant_quotient() const {
    return coefficient == 1 && monomial.size() == 1 && !monomial[0]->is_symbol() &&
           monomial[0]->denominator.is_constant();
  }

  // a / c for c > 1. Whole multiples of c leave the quotient, so that equal quotients get equal numerators.
  static Dim quotient_by(const Dim& a, int64_t c) {
    // floor((floor(x / b) + p) / c) = floor((x + p b) / (b c))
    for (const Term& t : all_of(a)) {
      if (!t.is_constant_quotient()) continue;
      const Atom& inner = *t.monomial[0];
      return floor_div(inner.numerator + (a - Dim({t})) * inner.denominator, Dim(c) * inner.denominator);
    }
    std::vector<Term> whole, rest;
    int64_t divisor = c;
    for (const Term& t : all_of(a)) {
      const int64_t q = floor_quotient(t.coefficient, c);
      const int64_t r = t.coefficient - q * c;
      if (q != 0) whole.push_back({t.monomial, q});
      if (r == 0) continue;
      rest.push_back({t.monomial, r});
      if (!t.monomial.empty()) divisor = std::gcd(divisor, r);
    }
    for (Term& t : rest) t.coefficient /= divisor;  // the constant rounds down, which changes no floor
    const Dim numerator(std::move(rest));
    const Dim quotient(std::move(whole));
    if (numerator.is_constant()) return quotient;
    return quotient + Dim({{{Atom::quotient(numerator, Dim(c / divisor))}, 1}});
  }
};

std::shared_ptr<const Dim::Atom> Dim::Atom::quotient(const Dim& numerator, const Dim& denominator) {
  const auto in_brackets = [](const Dim& d) {
    const bool one_factor =
        d.is_constant() || (d.constant_ == 0 && d.terms_->size() == 1 && d.terms_->front().monomial.size() == 1 &&
                            d.terms_->front().coefficient == 1);
    return one_factor ? to_string(d) : fmt::format("({})", to_string(d));
  };
  std::string text = fmt::format("floor({}/{})", in_brackets(numerator), in_brackets(denominator));
  return std::make_shared<const Atom>(Atom{std::move(text), numerator, denominator, 0});
}

int Dim::Atom::compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (const int order = a.text.compare(b.text)) return order;
  if (a.is_symbol() || b.is_symbol()) return static_cast<int>(a.is_symbol()) - static_cast<int>(b.is_symbol());
  const auto compare_dims = [](const Dim& x, const Dim& y) {
    const auto p = Term::all_of(x), q = Term::all_of(y);
    if (p.size() != q.size()) return p.size() < q.size() ? -1 : 1;
    for (size_t i = 0; i < p.size(); ++i) {
      if (const int order = Dim::compare(p[i].monomial, q[i].monomial)) return order;
      if (p[i].coefficient != q[i].coefficient) return p[i].coefficient < q[i].coefficient ? -1 : 1;
    }
    return 0;
  };
  const int order = compare_dims(a.numerator, b.numerator);
  return order != 0 ? order : compare_dims(a.denominator, b.denominator);
}

// Higher degree first, then alphabetically: this is the graded lexicographic order, which multiplication keeps.
int Dim::compare(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    if (const int order = Atom::compare(*a[i], *b[i])) return order;
  return 0;
}

Dim::Dim(int64_t value) : constant_(value) {}

Dim::Dim(std::vector<Term> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return compare(a.monomial, b.monomial) < 0; });
  std::vector<Term> merged;
  for (Term& t : terms) {
    if (t.monomial.empty())
      constant_ = checked_add(constant_, t.coefficient);
    else if (!merged.empty() && compare(merged.back().monomial, t.monomial) == 0)
      merged.back().coefficient = checked_add(merged.back().coefficient, t.coefficient);
    else
      merged.push_back(std::move(t));
  }
  std::erase_if(merged, [](const Term& t) { return t.coefficient == 0; });
  size_t length = 0;
  for (const Term& t : merged)
    for (const auto& atom : t.monomial) length += atom->text.size() + 1;
  if (length > kMaxTextLength)
    throw Error(ErrorKind::unsupported, "size: an expression of more than {} characters", kMaxTextLength);
  if (!merged.empty()) terms_ = std::make_shared<const std::vector<Term>>(std::move(merged));
}

Dim Dim::symbol(const std::string& name, int64_t least) {
  ensure(!name.empty() && least >= 0, "size symbol '{}' of at least {}", name, least);
  return Dim({{{std::make_shared<const Atom>(Atom{name, {}, {}, least})}, 1}});
}

bool Dim::is_constant() const { return !terms_; }

int64_t Dim::value() const {
  ensure(is_constant(), "size '{}' still depends on a symbol", to_string(*this));
  return constant_;
}

Dim Dim::bind(const Bindings& bindings) const {
  if (is_constant()) return *this;
  Dim sum(constant_);
  for (const Term& t : *terms_) {
    Dim product(t.coefficient);
    for (const auto& atom : t.monomial) {
      if (!atom->is_symbol()) {
        product = product * floor_div(atom->numerator.bind(bindings), atom->denominator.bind(bindings));
        continue;
      }
      const auto found = bindings.find(atom->text);
      product = product * (found != bindings.end() ? Dim(found->second) : Dim({{{atom}, 1}}));
    }
    sum = sum + product;
  }
  return sum;
}

void Dim::add_symbols(std::vector<std::string>& names) const {
  if (is_constant()) return;
  for (const Term& t : *terms_) {
    for (const auto& atom : t.monomial) {
      if (!atom->is_symbol()) {
        atom->numerator.add_symbols(names);
        atom->denominator.add_symbols(names);
      } else if (std::find(names.begin(), names.end(), atom->text) == names.end()) {
        names.push_back(atom->text);
      }
    }
  }
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_add(a.constant_, b.constant_);
  auto terms = Dim::Term::all_of(a);
  for (auto& t : Dim::Term::all_of(b)) terms.push_back(std::move(t));
  return Dim(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_multiply(a.constant_, b.constant_);
  const auto p = Dim::Term::all_of(a), q = Dim::Term::all_of(b);
  if (p.size() * q.size() > kMaxProductTerms)
    throw Error(ErrorKind::unsupported, "size: a product of sums with {} and {} terms", p.size(), q.size());
  std::vector<Dim::Term> terms;
  for (const auto& s : p)
    for (const auto& t : q) terms.push_back(Dim::Term::product(s, t));
  return Dim(std::move(terms));
}

Dim floor_div(const Dim& a, const Dim& b) {
  require(!(b == Dim(0)), "size: {} is divided by 0", to_string(a));
  if (b.is_constant()) {
    if (b.constant_ < 0) return floor_div(-a, -b);
    if (a.is_constant()) return floor_quotient(a.constant_, b.constant_);
    return b.constant_ == 1 ? a : Dim::Term::quotient_by(a, b.constant_);
  }
  Dim quotient;
  if (Dim::Term::divides_exactly(b, a, quotient)) return quotient;
  return Dim({{{Dim::Atom::quotient(a, b)}, 1}});
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.constant_ != b.constant_ || a.is_constant() != b.is_constant()) return false;
  if (a.terms_ == b.terms_) return true;
  return std::equal(a.terms_->begin(), a.terms_->end(), b.terms_->begin(), b.terms_->end(),
                    [](const Dim::Term& x, const Dim::Term& y) {
                      return x.coefficient == y.coefficient && Dim::compare(x.monomial, y.monomial) == 0;
                    });
}

std::string to_string(const Dim& d) {
  std::string text;
  for (const auto& t : Dim::Term::all_of(d)) {
    const bool negative = t.coefficient < 0;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    const uint64_t magnitude =
        negative ? 0 - static_cast<uint64_t>(t.coefficient) : static_cast<uint64_t>(t.coefficient);
    const bool one = magnitude == 1 && !t.monomial.empty();
    if (!one) text += std::to_string(magnitude);
    for (size_t i = 0; i < t.monomial.size(); ++i) {
      if (i > 0 || !one) text += '*';
      text += t.monomial[i]->text;
    }
  }
  return text;
}

// Of a product: each factor is at least 0, so the product is at least that of the bounds.
std::optional<int64_t> Dim::Term::lower_bound() const {
  if (coefficient < 0) return std::nullopt;
  int64_t product = coefficient;
  for (const auto& atom : monomial) {
    if (atom->is_symbol()) {
      product = checked_multiply(product, atom->least);
      continue;
    }
    const auto numerator = arbalest::lower_bound(atom->numerator);
    const auto denominator = arbalest::lower_bound(atom->denominator);
    if (!numerator || *numerator < 0 || !denominator || *denominator < 1) return std::nullopt;
    // A denominator with symbols has no upper bound.
    product = atom->denominator.is_constant() ? checked_multiply(product, *numerator / *denominator) : 0;
  }
  return product;
}

std::optional<int64_t> lower_bound(const Dim& d) {
  int64_t sum = 0;
  for (const Dim::Term& t : Dim::Term::all_of(d)) {
    if (t.monomial.empty()) {
      sum = checked_add(sum, t.coefficient);
      continue;
    }
    const auto bound = t.lower_bound();
    if (!bound) return std::nullopt;
    sum = checked_add(sum, *bound);
  }
  return sum;
}

Dim ceil_div(const Dim& a, const Dim& b) { return -floor_div(-a, b); }

}  // namespace arbalest
