// Expressions as text. Short ones are written out; in long ones, what is used several times gets a name first:
// "t0 = exp(x0); t0 / (t0 + 1)".
#include <fmt/format.h>

#include <algorithm>

#include "graph/scalar.h"
#include "graph/scalar_walk.h"

namespace arbalest {

namespace {

constexpr double kMaxWrittenOut = 64;  // nodes of the expression as a tree
constexpr size_t kMaxPieceLength = 160;

// How strongly text holds together, weakest first.
enum Binding { kOr, kAnd, kComparison, kSum, kProduct, kUnary, kAtom };

struct Piece {
  std::string text;
  int binding = kAtom;
};

std::string in_brackets_below(int binding, const Piece& p) {
  return p.binding < binding ? fmt::format("({})", p.text) : p.text;
}

Piece infix(const char* sign, int binding, const Piece& a, const Piece& b) {
  // All group to the left, so a right operand of the same strength is bracketed.
  return {fmt::format("{} {} {}", in_brackets_below(binding, a), sign, in_brackets_below(binding + 1, b)), binding};
}

Piece prefix(const char* sign, const Piece& p) {
  return {fmt::format("{}{}", sign, in_brackets_below(kUnary + 1, p)), kUnary};
}

Piece call(std::string_view name, std::span<const Piece> operands) {
  std::string text = fmt::format("{}({}", name, operands[0].text);
  for (size_t i = 1; i < operands.size(); ++i) text += fmt::format(", {}", operands[i].text);
  return {text + ")", kAtom};
}

Piece constant_piece(const Scalar& e) {
  if (e.type() == DataType::boolean) return {e.integer_value() != 0 ? "true" : "false", kAtom};
  std::string text;
  if (e.type() == DataType::u64)
    text = fmt::format("{}", static_cast<uint64_t>(e.integer_value()));
  else if (is_integer(e.type()))
    text = fmt::format("{}", e.integer_value());
  else
    text = e.type() == DataType::f64 ? fmt::format("{}", e.value()) : fmt::format("{}", static_cast<float>(e.value()));
  const bool negative = text.front() == '-';
  return {std::move(text), negative ? kUnary : kAtom};
}

Piece comparison(const char* sign, const char* mirrored, const Scalar& e, std::span<const Piece> p) {
  if (e.operands()[0].is_constant()) return infix(mirrored, kComparison, p[1], p[0]);
  return infix(sign, kComparison, p[0], p[1]);
}

Piece write(const Scalar& e, std::span<const Piece> p) {
  switch (e.op()) {
    case ScalarOp::input:
      return {fmt::format("x{}", e.input_index()), kAtom};
    case ScalarOp::constant:
      return constant_piece(e);
    case ScalarOp::cast:
      return call(name_of(e.type()), p);
    case ScalarOp::neg:
      return prefix("-", p[0]);
    case ScalarOp::logical_not:
      return prefix("!", p[0]);
    case ScalarOp::add:
      return infix("+", kSum, p[0], p[1]);
    case ScalarOp::sub:
      return infix("-", kSum, p[0], p[1]);
    case ScalarOp::mul:
      return infix("*", kProduct, p[0], p[1]);
    case ScalarOp::div:
      return infix("/", kProduct, p[0], p[1]);
    case ScalarOp::equal:
      return infix("==", kComparison, p[0], p[1]);
    case ScalarOp::less:
      return comparison("<", ">", e, p);
    case ScalarOp::less_equal:
      return comparison("<=", ">=", e, p);
    case ScalarOp::logical_and:
      return infix("&&", kAnd, p[0], p[1]);
    case ScalarOp::logical_or:
      return infix("||", kOr, p[0], p[1]);
    default:
      return call(name_of(e.op()), p);
  }
}

// Number of nodes if the expression is written out.
double tree_size(const std::vector<const Scalar*>& order) {
  ScalarMap<double> sizes;
  for (const Scalar* node : order) {
    double size = 1;
    for (const Scalar& o : node->operands()) size += sizes.at(o.identity());
    sizes[node->identity()] = size;
  }
  return sizes.at(order.back()->identity());
}

}  // namespace

std::string to_string(const Scalar& e) {
  const auto order = post_order(e);
  const bool written_out = tree_size(order) <= kMaxWrittenOut;
  ScalarMap<int> uses;
  for (const Scalar* node : order)
    for (const Scalar& o : node->operands()) ++uses[o.identity()];

  std::string definitions;
  int names = 0;
  ScalarMap<Piece> pieces;
  for (const Scalar* node : order) {
    std::vector<Piece> operands;
    for (const Scalar& o : node->operands()) operands.push_back(pieces.at(o.identity()));
    Piece piece = write(*node, operands);
    const bool worth_a_name = uses[node->identity()] > 1 || piece.text.size() > kMaxPieceLength;
    if (!written_out && node != order.back() && !node->operands().empty() && worth_a_name) {
      definitions += fmt::format("t{} = {}; ", names, piece.text);
      piece = {fmt::format("t{}", names++), kAtom};
    }
    pieces[node->identity()] = std::move(piece);
  }
  return definitions + pieces.at(e.identity()).text;
}

}  // namespace arbalest
