// The contract between the plan and the kernels of a backend.
//
// prepare(primitive, context) is called once a node when the plan is built, in step order: it chooses the algorithm and
// the layouts. The Prepared it returns is immutable and shared by all replicas; bind() is called once a replica with
// fixed addresses and gives the function that a step calls. That function decides, allocates and looks up nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/layout.h"
#include "graph/graph.h"

namespace arbalest {

// What random numbers are drawn from; one a replica, advanced by the learner between steps.
struct StepCounter {
  uint64_t seed = 0;
  uint64_t learner = 0;
  uint64_t step = 0;
};

// The addresses of one step in one replica. The spans live only during bind(): copy the addresses.
struct KernelArgs {
  std::span<void* const> inputs;
  std::span<void* const> outputs;
  void* scratch = nullptr;
  const StepCounter* counter = nullptr;
};

using BoundKernel = std::function<void()>;

struct Prepared {
  std::function<BoundKernel(const KernelArgs&)> bind;
  size_t scratch_bytes = 0;
  std::string implementation;  // shown by inspect: "jit:avx2", "map", "ref:any"
  double flops = 0;            // multiplications and additions, for reports
};

// What a kernel sees of its node. Layouts start as: input - the layout in which the value is now; output - row-major.
class PrepareContext {
 public:
  virtual ~PrepareContext() = default;

  virtual int threads() const = 0;
  virtual bool training() const = 0;  // whether gradients follow: layouts are then chosen for the backward passes too
  virtual int input_count() const = 0;
  virtual int output_count() const = 0;
  virtual const TensorType& input_type(int i) const = 0;
  virtual const TensorType& output_type(int i) const = 0;
  virtual bool output_used(int i) const = 0;
  virtual const Layout& input_layout(int i) const = 0;
  // Whether input i is a parameter whose layout nobody chose yet: the first require_input decides where it lives.
  virtual bool is_free_parameter(int i) const = 0;
  // Input i must come in this layout; the plan adds a reorder step where it does not.
  virtual void require_input(int i, const Layout& layout) = 0;
  void require_row_major(int i) { require_input(i, Layout::row_major(input_type(i).dims())); }
  // The layout in which output i must end anyway: that of the parameter whose gradient it is. A kernel that can write
  // it saves a reorder.
  virtual std::optional<Layout> wanted_output(int i) const = 0;
  virtual void set_output(int i, const Layout& layout) = 0;
  // Output is the same memory as the input (Reshape).
  virtual void alias(int output, int input) = 0;
  // The kernel works when output and input are the same memory: element k of the output needs only element k of the
  // input.
  virtual void may_overwrite(int output, int input) = 0;
};

}  // namespace arbalest
