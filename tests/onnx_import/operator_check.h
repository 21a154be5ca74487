// Runs models of a few nodes through import, plan and replica, in double precision where the gradient is checked.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "onnx_import/model_builder.h"
#include "onnx_import/model_file.h"

namespace arbalest {

struct LeftOut {};
// Random numbers between two bounds, computed from others whose gradient is checked.
struct Within {
  Dims dims;
  double low, high;
};
// Random numbers of [-1, 1] whose gradient is checked (the sizes), a constant, or nothing.
using CheckedOperand = std::variant<Dims, HostTensor, LeftOut, Within>;

struct OperatorCase {
  std::string name;
  std::string op;
  int64_t opset;  // of the domain
  std::vector<CheckedOperand> operands;
  Attributes attributes;
  int outputs = 1;
  std::string domain = {};
};

// The outputs of a model whose inputs are all initializers.
std::map<std::string, HostTensor> run_model(const ModelFile& file);

// The gradient of the sum of all outputs towards one initializer.
HostTensor gradient_of_sum(const ModelFile& file, const std::string& parameter);

// The gradient of a sum of all elements of all float outputs, each with a random weight, against central differences;
// a case is also computed in the types that its operator has.
void check_gradient(const OperatorCase& c);
void check_gradient(const std::string& name, const ModelBuilder& model, const std::vector<std::string>& parameters);

// The model of a case: without its operands, and the node that reads them, with its outputs.
ModelBuilder empty_model(const OperatorCase& c);
void add_node(ModelBuilder& m, const OperatorCase& c, const Strings& inputs);

// Domain and name of the operators whose gradient was checked and is right, so far; whether alone, not among others in
// a model.
using CheckedOperators = std::map<std::pair<std::string, std::string>, bool>;
const CheckedOperators& checked_operators();
// For a check that is no comparison with differences.
void count_as_checked(const std::string& op, const std::string& domain = "");

HostTensor f64_tensor(Dims dims, const std::vector<double>& values);
HostTensor i64_tensor(Dims dims, const std::vector<int64_t>& values);
HostTensor bool_tensor(Dims dims, const std::vector<int64_t>& values);

}  // namespace arbalest
