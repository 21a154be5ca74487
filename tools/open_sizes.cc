#include "tools/open_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "graph/base/error.h"
#include "tools/key_value.h"

namespace arbalest::tools {
namespace {

// The only symbol of an axis, if the axis is just that.
std::string symbol_of(const Dim& axis) {
  std::vector<std::string> names;
  axis.add_symbols(names);
  return names.size() == 1 && axis == Dim::symbol(names[0]) ? names[0] : "";
}

void check_known(const Bindings& given, const DeclaredInputs& declared) {
  std::vector<std::string> names;
  for (const auto& input : declared.types)
    for (const Dim& axis : input.second.shape) axis.add_symbols(names);
  for (const auto& [name, size] : given) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error(ErrorKind::usage, "--dim {}={}: the inputs have the open axes {}", name, size,
                  fmt::join(names, ", "));
  }
}

// Sizes that are given already stay.
void add_sizes(Bindings& bindings, const DeclaredInputs& declared, const DataFacts& data) {
  for (const auto& [name, type] : declared.types) {
    const auto sample = data.samples.size() == 1 ? data.samples.begin() : data.samples.find(name);
    if (sample == data.samples.end()) continue;
    const auto examples = data.examples.find(sample->first);
    for (size_t axis = 0; axis < type.shape.size() && axis <= sample->second.size(); ++axis) {
      const std::string symbol = symbol_of(type.shape[axis]);
      if (symbol.empty() || symbol == declared.batch_symbol) continue;
      if (axis > 0) {
        bindings.emplace(symbol, sample->second[axis - 1]);
      } else if (examples != data.examples.end()) {
        bindings.emplace(symbol, examples->second);
      }
    }
  }
}

}  // namespace

Bindings read_sizes(const std::vector<std::string>& given) {
  Bindings bindings;
  for (const std::string& text : given) {
    const auto [name, value] = key_and_value(text);
    int64_t size = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), size);
    const bool is_number = parsed.ec == std::errc() && parsed.ptr == value.data() + value.size();
    if (name.empty() || !is_number || size < 1) throw Error(ErrorKind::usage, "--dim {}: expected NAME=SIZE", text);
    bindings[name] = size;
  }
  return bindings;
}

Imported import_with_data(const ModelFile& model, ImportOptions options, const DataFacts& data) {
  const Bindings given = std::exchange(options.bindings, {});
  const DeclaredInputs declared = declared_inputs(model, options);
  check_known(given, declared);
  options.bindings = given;
  add_sizes(options.bindings, declared, data);
  try {
    return import_model(model, options);
  } catch (const Error& e) {
    const bool can_fix_batch = !declared.batch_symbol.empty() && !data.examples.empty();
    if (e.kind() != ErrorKind::unsupported || !can_fix_batch) throw;
  }
  options.bindings.emplace(declared.batch_symbol, data.examples.begin()->second);
  return import_model(model, options);
}

void bind_sizes(const Shape& shape, const Dims& sizes, Bindings& bindings) {
  for (size_t axis = 0; axis < std::min(shape.size(), sizes.size()); ++axis) {
    const std::string symbol = symbol_of(shape[axis]);
    if (!symbol.empty()) bindings.emplace(symbol, sizes[axis]);
  }
}

Bindings sizes_of(const DeclaredInputs& declared, const std::map<std::string, HostTensor>& feeds) {
  Bindings bindings;
  for (const auto& [name, type] : declared.types)
    if (const auto value = feeds.find(name); value != feeds.end()) bind_sizes(type.shape, value->second.dims, bindings);
  return bindings;
}

}  // namespace arbalest::tools
