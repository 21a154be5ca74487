// Runs one kernel as the plan would: prepares it in a context that records what it asks for, gives it inputs in the
// layouts that it required, runs it and checks what the contract of exec/prepare.h promises.
//
// Checked in every run (as test failures): the padding of outputs is zero, nothing is written outside the outputs and
// the scratch memory, inputs stay as they were, a second run gives the same bits, and so does a run in the memory of an
// input that the kernel may overwrite.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "exec/cpu/kernels/kernels.h"
#include "graph/host_tensor.h"

namespace arbalest {

struct KernelInput {
  HostTensor tensor;
  std::optional<Layout> layout;  // in which it arrives; default row-major
  bool free_parameter = false;
};

struct KernelOptions {
  std::vector<TensorType> outputs;
  int threads = 1;
  bool training = true;
  std::vector<std::optional<Layout>> wanted;  // an entry an output, or empty
  std::vector<bool> used;                     // an entry an output, or empty: all
  StepCounter counter;
};

struct KernelResult {
  std::vector<HostTensor> outputs;              // row-major
  std::vector<Layout> output_layouts;           // as the kernel set them
  std::vector<Layout> input_layouts;            // as the kernel required them
  std::vector<bool> reordered;                  // whether an input had to change its layout
  std::vector<int> alias;                       // the input whose memory an output is; -1: its own
  std::vector<std::vector<int>> may_overwrite;  // by output, the inputs that it may overwrite
  Prepared prepared;
};

class KernelContext : public PrepareContext {
 public:
  KernelContext(const std::vector<KernelInput>& inputs, const KernelOptions& options);

  int threads() const override { return options_.threads; }
  bool training() const override { return options_.training; }
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  int output_count() const override { return static_cast<int>(options_.outputs.size()); }
  const TensorType& input_type(int i) const override { return input_types_.at(static_cast<size_t>(i)); }
  const TensorType& output_type(int i) const override { return options_.outputs.at(static_cast<size_t>(i)); }
  bool output_used(int i) const override;
  const Layout& input_layout(int i) const override { return result_.input_layouts.at(static_cast<size_t>(i)); }
  bool is_free_parameter(int i) const override;
  void require_input(int i, const Layout& layout) override;
  std::optional<Layout> wanted_output(int i) const override;
  void set_output(int i, const Layout& layout) override;
  void alias(int output, int input) override;
  void may_overwrite(int output, int input) override;

  KernelResult run(Prepared prepared);

 private:
  std::vector<AlignedBytes> run_once(const std::vector<AlignedBytes>& inputs, int output, int overwritten);

  const std::vector<KernelInput>& inputs_;
  const KernelOptions& options_;
  std::vector<TensorType> input_types_;
  KernelResult result_;
};

template <class P>
KernelResult run_kernel(const P& primitive, const std::vector<KernelInput>& inputs, const KernelOptions& options) {
  KernelContext context(inputs, options);
  return context.run(cpu::prepare(primitive, context));
}

// The bytes of a tensor in a layout, padding zero, and back; one element at a time, as the header of Layout says.
AlignedBytes to_layout(const HostTensor& tensor, const Layout& layout);
HostTensor from_layout(const std::byte* bytes, const Layout& layout, DataType type);
bool padding_is_zero(const std::byte* bytes, const Layout& layout, DataType type);

// Calls f(index) for each index of dims, the last axis fastest.
template <class F>
void for_each_index(const Dims& dims, F&& f) {
  const int64_t count = element_count(dims);
  Dims index(dims.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    f(static_cast<const Dims&>(index));
    for (size_t axis = dims.size(); axis-- > 0 && ++index[axis] == dims[axis];) index[axis] = 0;
  }
}

// Uniform in [-2, 2) for floats, small integers of both signs where the type has them, 0 or 1 for bool.
HostTensor random_tensor(std::mt19937& random, DataType type, const Dims& dims);
// Sizes 0 (rarely), 1 (often) to 6.
Dims random_dims(std::mt19937& random, int rank);
// Row-major, channels last, channels in blocks of 8 or 16, or any permutation, as the rank allows.
Layout random_layout(std::mt19937& random, const Dims& dims);

}  // namespace arbalest
