// Einsum-12, 28: any equation, contracted from left to right, two operands at a time, as batched products.
#include <algorithm>
#include <numeric>

#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {
namespace {

// A letter, or kEllipsis + i for the i-th axis from the end of an ellipsis.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;

bool has(const Labels& labels, Label l) { return std::find(labels.begin(), labels.end(), l) != labels.end(); }

struct Term {
  std::string letters;  // without the ellipsis
  std::optional<size_t> ellipsis;
};

Term term_of(const std::string& text) {
  Term t;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      require(!t.ellipsis, "the equation has two ellipses in '{}'", text);
      t.ellipsis = t.letters.size();
      i += 2;
    } else {
      require(std::isalpha(static_cast<unsigned char>(text[i])), "the equation holds '{}', expected letters", text[i]);
      t.letters += text[i];
    }
  }
  return t;
}

struct Equation {
  std::vector<Term> inputs;
  std::optional<Term> output;
};

Equation parse_equation(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation e;
  const size_t arrow = text.find("->");
  if (arrow != std::string::npos) e.output = term_of(text.substr(arrow + 2));
  const std::string inputs = text.substr(0, arrow);
  size_t start = 0;
  for (size_t comma; (comma = inputs.find(',', start)) != std::string::npos; start = comma + 1)
    e.inputs.push_back(term_of(inputs.substr(start, comma - start)));
  e.inputs.push_back(term_of(inputs.substr(start)));
  return e;
}

Labels labels_of(const Term& t, int ellipsis_axes) {
  Labels labels(t.letters.begin(), t.letters.end());
  if (!t.ellipsis) return labels;
  Labels dots;
  for (int i = ellipsis_axes; i-- > 0;) dots.push_back(kEllipsis + i);
  labels.insert(labels.begin() + static_cast<int64_t>(*t.ellipsis), dots.begin(), dots.end());
  return labels;
}

// A tensor whose axes have names, each at most once.
struct Operand {
  Value value;
  Labels labels;

  size_t place(Label l) const {
    return static_cast<size_t>(std::find(labels.begin(), labels.end(), l) - labels.begin());
  }
  const Dim& size(Label l) const { return value.shape()[place(l)]; }
};

Operand in_order(const Operand& x, const Labels& order) {
  std::vector<int> permutation;
  for (const Label l : order) permutation.push_back(static_cast<int>(x.place(l)));
  return {transpose(x.value, permutation), order};
}

// The diagonal of two axes: every (n + 1)-th element of both taken as one.
Operand with_diagonal(const Operand& x, size_t first, size_t second) {
  const Dim n = x.value.shape()[first];
  require(n == x.value.shape()[second], "a letter stands for axes of {} and {} of one operand", to_string(n),
          to_string(x.value.shape()[second]));
  if (!n.is_constant()) throw Error(ErrorKind::unsupported, "the diagonal of axes of the open size {}", to_string(n));
  std::vector<int> permutation;
  Labels labels;
  Shape shape;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (i == first || i == second) continue;
    permutation.push_back(static_cast<int>(i));
    labels.push_back(x.labels[i]);
    shape.push_back(x.value.shape()[i]);
  }
  permutation.insert(permutation.end(), {static_cast<int>(first), static_cast<int>(second)});
  labels.push_back(x.labels[first]);
  shape.push_back(n * n);
  const Value flat = reshape(transpose(x.value, permutation), shape);
  return {slice(flat, static_cast<int>(labels.size()) - 1, 0, n, n.value() + 1), labels};
}

Operand without_repeated(Operand x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const auto again = std::find(x.labels.begin() + static_cast<int64_t>(i) + 1, x.labels.end(), x.labels[i]);
    if (again == x.labels.end()) continue;
    return without_repeated(with_diagonal(x, i, static_cast<size_t>(again - x.labels.begin())));
  }
  return x;
}

Operand summed_except(const Operand& x, const Labels& kept) {
  std::vector<int> axes;
  Labels labels;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    has(kept, x.labels[i]) ? labels.push_back(x.labels[i]) : axes.push_back(static_cast<int>(i));
  }
  return {reduce(Reduction::sum, x.value, axes, Keep::no), labels};
}

// An axis of size 1 beside a longer one of the same letter is repeated along it: the operand does not depend on it.
void drop_repeated_axes(std::vector<Operand>& operands) {
  const auto is_longer = [&](Label l) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Operand& o) { return has(o.labels, l) && !(o.size(l) == Dim(1)); });
  };
  for (Operand& x : operands) {
    Shape shape;
    Labels labels;
    for (size_t i = 0; i < x.labels.size(); ++i) {
      const Dim size = x.value.shape()[i];
      if (size == Dim(1) && is_longer(x.labels[i])) continue;
      shape.push_back(size);
      labels.push_back(x.labels[i]);
    }
    x = {reshape(x.value, shape), labels};
  }
}

void check_sizes(const std::vector<Operand>& operands) {
  std::vector<std::pair<Label, Dim>> seen;
  for (const Operand& x : operands) {
    for (const Label l : x.labels) {
      for (const auto& [label, size] : seen) {
        const Dim& here = x.size(l);
        require(label != l || !here.is_constant() || !size.is_constant() || here == size,
                "{} stands for axes of {} and {}",
                l < kEllipsis ? fmt::format("'{}'", static_cast<char>(l)) : "the ellipsis", to_string(size),
                to_string(here));
      }
      seen.emplace_back(l, x.size(l));
    }
  }
}

Dim product_of(const Operand& x, const Labels& labels) {
  Dim product(1);
  for (const Label l : labels) product = product * x.size(l);
  return product;
}

Labels joined(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Elementwise product; axes that only one of them has are outer ones.
Operand multiplied(const Operand& a, const Operand& b) {
  Labels labels = a.labels;
  for (const Label l : b.labels)
    if (!has(labels, l)) labels.push_back(l);
  const auto placed = [&](const Operand& x) {
    Labels own;
    Shape shape;
    for (const Label l : labels) {
      shape.push_back(has(x.labels, l) ? x.size(l) : Dim(1));
      if (has(x.labels, l)) own.push_back(l);
    }
    return reshape(in_order(x, own).value, shape);
  };
  return {placed(a) * placed(b), labels};
}

Operand contracted(const Operand& left, const Operand& right, const Labels& kept) {
  const Operand a = summed_except(left, joined({kept, right.labels})),
                b = summed_except(right, joined({kept, left.labels}));
  Labels batch, rows, columns, inner;
  for (const Label l : a.labels) (!has(b.labels, l) ? rows : has(kept, l) ? batch : inner).push_back(l);
  for (const Label l : b.labels)
    if (!has(a.labels, l)) columns.push_back(l);
  if (inner.empty()) return multiplied(a, b);
  if (!is_float(a.value.dtype())) return summed_except(multiplied(a, b), kept);
  const Dim count = product_of(a, batch), depth = product_of(a, inner);
  const Value x = in_order(a, joined({batch, rows, inner})).value,
              y = in_order(b, joined({batch, inner, columns})).value;
  const Value z =
      matmul(reshape(x, {count, product_of(a, rows), depth}), reshape(y, {count, depth, product_of(b, columns)}));
  Operand result{z, joined({batch, rows, columns})};
  Shape shape;
  for (const Label l : joined({batch, rows})) shape.push_back(a.size(l));
  for (const Label l : columns) shape.push_back(b.size(l));
  result.value = reshape(z, shape);
  return result;
}

// Without an arrow: the axes of the ellipsis, then the letters that occur once, in the order of ASCII.
Labels implicit_output(const std::vector<Operand>& before, int ellipsis_axes) {
  Labels all;
  for (const Operand& x : before) all.insert(all.end(), x.labels.begin(), x.labels.end());
  Labels output;
  for (int i = ellipsis_axes; i-- > 0;) output.push_back(kEllipsis + i);
  for (Label l = 0; l < kEllipsis; ++l)
    if (std::count(all.begin(), all.end(), l) == 1) output.push_back(l);
  return output;
}

std::vector<Operand> operands_of(OpContext& op, const Equation& equation, int& ellipsis_axes) {
  require(static_cast<int>(equation.inputs.size()) == op.input_count(), "the equation has {} terms for {} inputs",
          equation.inputs.size(), op.input_count());
  std::vector<Operand> operands;
  for (int i = 0; i < op.input_count(); ++i) {
    const Term& term = equation.inputs[static_cast<size_t>(i)];
    const Value x = op.input(i);
    const int dots = x.rank() - static_cast<int>(term.letters.size());
    require(dots == 0 || (dots > 0 && term.ellipsis), "term {} of the equation names {} axes, input {} has shape {}", i,
            term.letters.size(), i, to_string(x.shape()));
    ellipsis_axes = std::max(ellipsis_axes, dots);
    operands.push_back({x, labels_of(term, dots)});
  }
  return operands;
}

Values einsum(OpContext& op) {
  require(op.has_attribute("equation"), "attribute 'equation' is missing");
  const Equation equation = parse_equation(op.attribute("equation", ""));
  int ellipsis_axes = 0;
  std::vector<Operand> operands = operands_of(op, equation, ellipsis_axes);
  const Labels output =
      equation.output ? labels_of(*equation.output, ellipsis_axes) : implicit_output(operands, ellipsis_axes);
  for (size_t i = 0; i < output.size(); ++i) {
    require(std::any_of(operands.begin(), operands.end(), [&](const Operand& x) { return has(x.labels, output[i]); }),
            "the output of the equation names '{}', no input does", static_cast<char>(output[i]));
    require(std::count(output.begin(), output.end(), output[i]) == 1, "the output of the equation names '{}' twice",
            static_cast<char>(output[i]));
  }
  for (Operand& x : operands) x = without_repeated(x);
  drop_repeated_axes(operands);
  check_sizes(operands);
  Operand result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    Labels kept = output;
    for (size_t k = i + 1; k < operands.size(); ++k) kept = joined({kept, operands[k].labels});
    result = contracted(result, operands[i], kept);
  }
  return {in_order(summed_except(result, output), output).value};
}

}  // namespace

void register_einsum(Translator& t);
void register_einsum(Translator& t) { t.add("Einsum", {12, 28}, einsum); }

}  // namespace arbalest
