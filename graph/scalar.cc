#include "graph/scalar.h"

#include <array>
#include <bit>

#include "graph/base/error.h"
#include "graph/scalar_simplify.h"
#include "graph/scalar_value.h"
#include "graph/scalar_walk.h"

namespace arbalest {

namespace {

// What operands an operation accepts, and whether it gives a boolean.
enum class Domain : uint8_t { any, number, real, integer, boolean };

struct OpInfo {
  std::string_view name;
  int operands;
  Domain domain;
  bool gives_boolean;
};

constexpr std::array<OpInfo, static_cast<size_t>(ScalarOp::select) + 1> kOps = {{
    {"input", 0, Domain::any, false},
    {"constant", 0, Domain::any, false},
    {"cast", 1, Domain::any, false},
    {"neg", 1, Domain::number, false},
    {"abs", 1, Domain::number, false},
    {"sign", 1, Domain::number, false},
    {"floor", 1, Domain::number, false},
    {"ceil", 1, Domain::number, false},
    {"round", 1, Domain::number, false},
    {"exp", 1, Domain::real, false},
    {"log", 1, Domain::real, false},
    {"log1p", 1, Domain::real, false},
    {"expm1", 1, Domain::real, false},
    {"sqrt", 1, Domain::real, false},
    {"reciprocal", 1, Domain::real, false},
    {"relu", 1, Domain::number, false},
    {"sigmoid", 1, Domain::real, false},
    {"tanh", 1, Domain::real, false},
    {"erf", 1, Domain::real, false},
    {"sin", 1, Domain::real, false},
    {"cos", 1, Domain::real, false},
    {"tan", 1, Domain::real, false},
    {"asin", 1, Domain::real, false},
    {"acos", 1, Domain::real, false},
    {"atan", 1, Domain::real, false},
    {"sinh", 1, Domain::real, false},
    {"cosh", 1, Domain::real, false},
    {"asinh", 1, Domain::real, false},
    {"acosh", 1, Domain::real, false},
    {"atanh", 1, Domain::real, false},
    {"is_nan", 1, Domain::number, true},
    {"is_inf", 1, Domain::number, true},
    {"logical_not", 1, Domain::boolean, true},
    {"bit_not", 1, Domain::integer, false},
    {"add", 2, Domain::number, false},
    {"sub", 2, Domain::number, false},
    {"mul", 2, Domain::number, false},
    {"div", 2, Domain::number, false},
    {"mod", 2, Domain::number, false},
    {"fmod", 2, Domain::number, false},
    {"pow", 2, Domain::number, false},
    {"min", 2, Domain::number, false},
    {"max", 2, Domain::number, false},
    {"equal", 2, Domain::any, true},
    {"less", 2, Domain::any, true},
    {"less_equal", 2, Domain::any, true},
    {"logical_and", 2, Domain::boolean, true},
    {"logical_or", 2, Domain::boolean, true},
    {"logical_xor", 2, Domain::boolean, true},
    {"bit_and", 2, Domain::integer, false},
    {"bit_or", 2, Domain::integer, false},
    {"bit_xor", 2, Domain::integer, false},
    {"shift_left", 2, Domain::integer, false},
    {"shift_right", 2, Domain::integer, false},
    {"select", 3, Domain::any, false},
}};

const OpInfo& info(ScalarOp op) { return kOps[static_cast<size_t>(op)]; }

bool accepts(Domain domain, DataType type) {
  switch (domain) {
    case Domain::any:
      return true;
    case Domain::number:
      return type != DataType::boolean;
    case Domain::real:
      return is_float(type);
    case Domain::integer:
      return is_integer(type);
    case Domain::boolean:
      return type == DataType::boolean;
  }
  return false;
}

DataType result_type(ScalarOp op, const std::vector<Scalar>& operands) {
  ensure(info(op).operands == static_cast<int>(operands.size()) && !operands.empty() && op != ScalarOp::cast,
         "scalar {}: {} operands", name_of(op), operands.size());
  size_t first = 0;
  if (op == ScalarOp::select) {
    ensure(operands[0].type() == DataType::boolean, "scalar select: the condition is {}", name_of(operands[0].type()));
    first = 1;
  }
  const DataType type = operands[first].type();
  for (size_t i = first; i < operands.size(); ++i)
    ensure(operands[i].type() == type, "scalar {}: operands of types {} and {}", name_of(op), name_of(type),
           name_of(operands[i].type()));
  ensure(accepts(info(op).domain, type), "scalar {}: not defined for {}", name_of(op), name_of(type));
  return info(op).gives_boolean ? DataType::boolean : type;
}

size_t mix(size_t h, uint64_t x) {
  h = (h ^ x) * 0xbf58476d1ce4e5b9u;
  return h ^ (h >> 29);
}

}  // namespace

std::string_view name_of(ScalarOp op) { return info(op).name; }

int operand_count(ScalarOp op) { return info(op).operands; }

struct Scalar::Node {
  ScalarOp op;
  DataType type;
  int64_t integer = 0;  // input index, or value of an integer or boolean constant
  double real = 0;      // value of a float constant
  std::vector<Scalar> operands;
  size_t hash = 0;

  Node(ScalarOp op, DataType type, int64_t integer, double real, std::vector<Scalar> operands)
      : op(op), type(type), integer(integer), real(real), operands(std::move(operands)) {
    hash = mix(mix(mix(static_cast<size_t>(op) * 64 + static_cast<size_t>(type), static_cast<uint64_t>(integer)),
                   std::bit_cast<uint64_t>(real)),
               0);
    for (const Scalar& o : this->operands) hash = mix(hash, o.hash());
  }

  // Takes a long chain apart step by step, where nested destructors would exhaust the stack.
  ~Node() {
    std::vector<Scalar> pending = std::move(operands);
    while (!pending.empty()) {
      const Scalar last = std::move(pending.back());
      pending.pop_back();
      if (last.node_.use_count() != 1) continue;
      auto& below = const_cast<Node&>(*last.node_).operands;  // nobody else can see this node any more
      for (Scalar& o : below) pending.push_back(std::move(o));
      below.clear();
    }
  }

  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  static Scalar make(ScalarOp op, DataType type, int64_t integer, double real, std::vector<Scalar> operands) {
    Scalar s;
    s.node_ = std::make_shared<Node>(op, type, integer, real, std::move(operands));
    return s;
  }

  static Scalar constant(ScalarValue value, DataType type) {
    return make(ScalarOp::constant, type, is_float(type) ? 0 : value.integer, is_float(type) ? value.real : 0, {});
  }
};

Scalar Scalar::input(int index, DataType type) {
  ensure(index >= 0, "scalar input {}", index);
  return Node::make(ScalarOp::input, type, index, 0, {});
}

Scalar Scalar::constant(double value, DataType type) {
  if (type == DataType::f64) return Node::constant({value, 0}, type);
  return Node::constant(convert({value, 0}, DataType::f64, type), type);
}

Scalar Scalar::constant(int64_t value, DataType type) {
  return Node::constant(convert({0, value}, DataType::i64, type), type);
}

Scalar Scalar::make(ScalarOp op, std::vector<Scalar> operands) {
  const DataType type = result_type(op, operands);
  order_operands(op, operands);
  bool all_constant = true;
  for (const Scalar& o : operands) all_constant = all_constant && o.is_constant();
  if (all_constant) {
    std::array<ScalarValue, 3> values;
    for (size_t i = 0; i < operands.size(); ++i) values[i] = {operands[i].node_->real, operands[i].node_->integer};
    ScalarValue result = apply(op, operands.back().type(), {values.data(), operands.size()});
    result.real = round_to(result.real, type);
    return Node::constant(result, type);
  }
  if (auto simpler = simplify(op, operands)) return *std::move(simpler);
  return Node::make(op, type, 0, 0, std::move(operands));
}

Scalar Scalar::cast(Scalar x, DataType to) {
  if (x.is_constant()) return Node::constant(convert({x.node_->real, x.node_->integer}, x.type(), to), to);
  if (auto simpler = simplify_cast(x, to)) return *std::move(simpler);
  return Node::make(ScalarOp::cast, to, 0, 0, {std::move(x)});
}

ScalarOp Scalar::op() const { return node_->op; }

DataType Scalar::type() const { return node_->type; }

int Scalar::input_index() const {
  ensure(op() == ScalarOp::input, "index of a scalar {}", name_of(op()));
  return static_cast<int>(node_->integer);
}

double Scalar::value() const {
  ensure(is_constant(), "value of a scalar {}", name_of(op()));
  return to_double({node_->real, node_->integer}, node_->type);
}

int64_t Scalar::integer_value() const {
  ensure(is_constant() && !is_float(type()), "integer value of a scalar {}", name_of(op()));
  return node_->integer;
}

std::span<const Scalar> Scalar::operands() const { return node_->operands; }

size_t Scalar::hash() const { return node_->hash; }

size_t Scalar::node_count() const {
  ScalarNumbering numbering;
  numbering.number(*this);
  return numbering.count();
}

bool operator==(const Scalar& a, const Scalar& b) {
  if (a.node_ == b.node_) return true;
  if (!a.node_ || !b.node_ || a.hash() != b.hash()) return false;
  ScalarNumbering numbering;
  return numbering.number(a) == numbering.number(b);
}

}  // namespace arbalest
