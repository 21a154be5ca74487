#include "tests/exec/kernel_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "graph/float16.h"

namespace arbalest {

namespace {

constexpr size_t kGuard = 64;
constexpr std::byte kUnwritten{0xa5};

// Memory with guard bytes around it.
struct Guarded {
  AlignedBytes bytes;

  explicit Guarded(size_t size) : bytes(size + 2 * kGuard, kUnwritten) {}
  std::byte* data() { return bytes.data() + kGuard; }
  size_t size() const { return bytes.size() - 2 * kGuard; }
  bool intact() const {
    const auto unwritten = [](std::byte b) { return b == kUnwritten; };
    return std::all_of(bytes.begin(), bytes.begin() + kGuard, unwritten) &&
           std::all_of(bytes.end() - kGuard, bytes.end(), unwritten);
  }
};

int64_t offset_of(const Layout& layout, const Dims& index) {
  int64_t offset = 0;
  if (layout.blocks.empty()) {
    for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * layout.strides[axis];
    return offset;
  }
  int64_t inner_stride = 1;
  Dims rest = index;
  for (size_t i = layout.blocks.size(); i-- > 0;) {
    const auto& [axis, size] = layout.blocks[i];
    int64_t& r = rest[static_cast<size_t>(axis)];
    offset += r % size * inner_stride;
    r /= size;
    inner_stride *= size;
  }
  for (size_t axis = 0; axis < rest.size(); ++axis) offset += rest[axis] * layout.strides[axis];
  return offset;
}

}  // namespace

AlignedBytes to_layout(const HostTensor& tensor, const Layout& layout) {
  const size_t size = size_of(tensor.dtype);
  AlignedBytes bytes(layout.bytes(tensor.dtype));
  const std::byte* from = tensor.bytes.data();
  for_each_index(layout.dims, [&](const Dims& index) {
    std::memcpy(bytes.data() + static_cast<size_t>(offset_of(layout, index)) * size, from, size);
    from += size;
  });
  return bytes;
}

HostTensor from_layout(const std::byte* bytes, const Layout& layout, DataType type) {
  HostTensor tensor(type, layout.dims);
  const size_t size = size_of(type);
  std::byte* to = tensor.bytes.data();
  for_each_index(layout.dims, [&](const Dims& index) {
    std::memcpy(to, bytes + static_cast<size_t>(offset_of(layout, index)) * size, size);
    to += size;
  });
  return tensor;
}

bool padding_is_zero(const std::byte* bytes, const Layout& layout, DataType type) {
  const size_t size = size_of(type);
  AlignedBytes copy(bytes, bytes + layout.bytes(type));
  for_each_index(layout.dims, [&](const Dims& index) {
    std::memset(copy.data() + static_cast<size_t>(offset_of(layout, index)) * size, 0, size);
  });
  return std::all_of(copy.begin(), copy.end(), [](std::byte b) { return b == std::byte{0}; });
}

KernelContext::KernelContext(const std::vector<KernelInput>& inputs, const KernelOptions& options)
    : inputs_(inputs), options_(options) {
  for (const KernelInput& input : inputs) {
    input_types_.push_back({input.tensor.dtype, Shape(input.tensor.dims)});
    result_.input_layouts.push_back(input.layout.value_or(Layout::row_major(input.tensor.dims)));
  }
  for (const TensorType& type : options.outputs) result_.output_layouts.push_back(Layout::row_major(type.dims()));
  result_.reordered.assign(inputs.size(), false);
  result_.alias.assign(options.outputs.size(), -1);
  result_.may_overwrite.resize(options.outputs.size());
}

bool KernelContext::output_used(int i) const {
  return options_.used.empty() || options_.used.at(static_cast<size_t>(i));
}

bool KernelContext::is_free_parameter(int i) const { return inputs_.at(static_cast<size_t>(i)).free_parameter; }

void KernelContext::require_input(int i, const Layout& layout) {
  Layout& now = result_.input_layouts.at(static_cast<size_t>(i));
  EXPECT_EQ(layout.dims, now.dims) << "required of input " << i;
  if (!(layout == now)) result_.reordered.at(static_cast<size_t>(i)) = true;
  now = layout;
}

std::optional<Layout> KernelContext::wanted_output(int i) const {
  return options_.wanted.empty() ? std::nullopt : options_.wanted.at(static_cast<size_t>(i));
}

void KernelContext::set_output(int i, const Layout& layout) {
  EXPECT_EQ(layout.dims, output_type(i).dims()) << "layout of output " << i;
  result_.output_layouts.at(static_cast<size_t>(i)) = layout;
}

void KernelContext::alias(int output, int input) { result_.alias.at(static_cast<size_t>(output)) = input; }

void KernelContext::may_overwrite(int output, int input) {
  result_.may_overwrite.at(static_cast<size_t>(output)).push_back(input);
}

std::vector<AlignedBytes> KernelContext::run_once(const std::vector<AlignedBytes>& inputs, int output,
                                                  int overwritten) {
  std::vector<Guarded> in;
  std::vector<void*> in_pointers;
  for (const AlignedBytes& bytes : inputs) {
    Guarded& g = in.emplace_back(bytes.size());
    std::copy(bytes.begin(), bytes.end(), g.data());
    in_pointers.push_back(g.data());
  }
  std::vector<Guarded> out;
  std::vector<void*> out_pointers;
  for (size_t i = 0; i < options_.outputs.size(); ++i) {
    Guarded& g = out.emplace_back(result_.output_layouts[i].bytes(options_.outputs[i].dtype));
    const int same = output == static_cast<int>(i) ? overwritten : result_.alias[i];
    if (same >= 0) {
      EXPECT_EQ(g.size(), in[static_cast<size_t>(same)].size()) << "output " << i << " in the memory of an input";
    }
    out_pointers.push_back(same >= 0 ? in_pointers[static_cast<size_t>(same)] : g.data());
    if (!output_used(static_cast<int>(i))) out_pointers.back() = nullptr;
  }
  Guarded scratch(result_.prepared.scratch_bytes);
  const BoundKernel kernel = result_.prepared.bind({in_pointers, out_pointers, scratch.data(), &options_.counter});
  kernel();
  if (output < 0) kernel();

  EXPECT_TRUE(scratch.intact()) << "scratch written outside";
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT_TRUE(in[i].intact()) << "input " << i << " written outside";
    EXPECT_TRUE(overwritten == static_cast<int>(i) || std::equal(inputs[i].begin(), inputs[i].end(), in[i].data()))
        << "input " << i << " changed";
  }
  std::vector<AlignedBytes> results;
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_TRUE(out[i].intact()) << "output " << i << " written outside";
    const auto* begin = static_cast<const std::byte*>(out_pointers[i]);
    results.emplace_back();
    if (begin) results.back().assign(begin, begin + out[i].size());
  }
  return results;
}

KernelResult KernelContext::run(Prepared prepared) {
  result_.prepared = std::move(prepared);
  EXPECT_FALSE(result_.prepared.implementation.empty());
  std::vector<AlignedBytes> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i) inputs.push_back(to_layout(inputs_[i].tensor, result_.input_layouts[i]));
  const std::vector<AlignedBytes> outputs = run_once(inputs, -1, -1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!output_used(static_cast<int>(i))) continue;
    for (const int input : result_.may_overwrite[i]) {
      EXPECT_EQ(run_once(inputs, static_cast<int>(i), input)[i], outputs[i])
          << "output " << i << " in the memory of input " << input;
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DataType type = options_.outputs[i].dtype;
    const Layout& layout = result_.output_layouts[i];
    if (!output_used(static_cast<int>(i))) {
      result_.outputs.emplace_back();
      continue;
    }
    EXPECT_TRUE(padding_is_zero(outputs[i].data(), layout, type))
        << "padding of output " << i << " in " << layout.text();
    result_.outputs.push_back(from_layout(outputs[i].data(), layout, type));
  }
  return result_;
}

HostTensor random_tensor(std::mt19937& random, DataType type, const Dims& dims) {
  HostTensor wide(DataType::f64, dims);
  for (double& v : wide.as<double>()) {
    const double unit = static_cast<double>(random()) * 0x1p-32;
    if (is_float(type)) {
      v = 4 * unit - 2;
    } else if (type == DataType::boolean) {
      v = unit < 0.5 ? 0 : 1;
    } else {
      v = std::floor(unit * 20) - (type == DataType::u8 || type >= DataType::u16 ? 0 : 10);
    }
  }
  return wide.to(type);
}

Dims random_dims(std::mt19937& random, int rank) {
  Dims dims;
  for (int i = 0; i < rank; ++i) {
    const unsigned draw = random() % 24;
    dims.push_back(draw == 0 ? 0 : draw < 8 ? 1 : 2 + static_cast<int64_t>(random() % 5));
  }
  return dims;
}

Layout random_layout(std::mt19937& random, const Dims& dims) {
  const unsigned draw = random() % 5;
  if (dims.size() >= 3 && draw == 1) {
    std::vector<int> order(dims.size());
    order[0] = 0;
    for (size_t i = 1; i + 1 < dims.size(); ++i) order[i] = static_cast<int>(i) + 1;
    order.back() = 1;
    return Layout::permuted(dims, order);
  }
  if (dims.size() >= 2 && (draw == 2 || draw == 3)) return Layout::channel_blocked(dims, draw == 2 ? 8 : 16);
  if (draw == 4) {
    std::vector<int> order(dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return Layout::permuted(dims, order);
  }
  return Layout::row_major(dims);
}

}  // namespace arbalest
