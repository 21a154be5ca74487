// Runs models of a few nodes through import, plan and replica, in double precision where the gradient is checked.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "onnx_import/model_builder.h"
#include "onnx_import/model_file.h"

namespace arbalest {

struct LeftOut {};
// Random numbers of [-1, 1] whose gradient is checked (the sizes), a constant, or nothing.
using CheckedOperand = std::variant<Dims, HostTensor, LeftOut>;

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

// The gradient of a sum of all elements of all float outputs, each with a random weight, against central differences.
void check_gradient(const OperatorCase& c);
void check_gradient(const std::string& name, const ModelBuilder& model, const std::vector<std::string>& parameters);

HostTensor f64_tensor(Dims dims, const std::vector<double>& values);
HostTensor i64_tensor(Dims dims, const std::vector<int64_t>& values);
HostTensor bool_tensor(Dims dims, const std::vector<int64_t>& values);

}  // namespace arbalest
