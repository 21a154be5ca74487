#include "onnx_import/translate.h"

#include <algorithm>

#include "graph/base/error.h"

namespace arbalest {
namespace {

// A few lines of nested loops describe more nodes than memory holds.
constexpr int64_t kMaxUnrolled = 200'000;

// Collects what is wrong with all nodes.
class Failures {
 public:
  bool reaches(const FlatNode& node) const {
    if (without_value_.empty()) return false;
    const std::vector<std::string> names = names_read(*node.proto);
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return without_value_.count(n) > 0; });
  }
  void mark(const FlatNode& node) {
    without_value_.insert(node.proto->output().begin(), node.proto->output().end());
    without_value_.erase("");
  }
  void add(const FlatNode& node, const Error& error) {
    // Scalar expressions check the types of their operands as if no model could get them wrong.
    const bool is_type_fault = std::string_view(error.what()).starts_with("scalar ");
    errors_.push_back(Error(is_type_fault ? ErrorKind::model : error.kind(), error.what()).within(describe(node)));
    mark(node);
  }
  void check() const {
    if (errors_.empty()) return;
    std::vector<std::string> lines;
    for (const Error& e : errors_) lines.push_back(e.what());
    throw Error(errors_.front().kind(), "{}", fmt::join(lines, "\n"));
  }

 private:
  std::vector<Error> errors_;
  std::unordered_set<std::string> without_value_;
};

void translate(const FlatNode& node, ImportContext& import) {
  const std::string why = why_unsupported(node);
  if (!why.empty()) throw Error(ErrorKind::unsupported, "{}", why);
  const Translator::Entry& entry = translator().entries().at({domain_of(*node.proto), node.proto->op_type()});
  NodeContext context(node, *entry.version_for(node.opset), import);
  import.scope.builder().set_origin(import.origin_prefix + node.label);
  const Values values = entry.translation(context);
  context.check_all_known();
  for (int i = 0; i < context.output_count(); ++i) {
    const auto k = static_cast<size_t>(i);
    const Item item = k < values.size() && values[k] ? Item(values[k]) : context.given(i);
    if (item) {
      import.scope.define(node.proto->output(i), item);
    } else if (context.output_used(i)) {
      throw Error(ErrorKind::unsupported, "output {} ('{}') is not supported", i, node.proto->output(i));
    }
  }
}

}  // namespace

std::string why_unsupported(const FlatNode& node) {
  const std::string domain = domain_of(*node.proto);
  const auto entry = translator().entries().find({domain, node.proto->op_type()});
  const std::string shown = domain.empty() ? "ai.onnx" : domain;
  if (entry == translator().entries().end()) return fmt::format("operator of domain {}, opset {}", shown, node.opset);
  if (!entry->second.version_for(node.opset))
    return fmt::format("opset {} of domain {} does not have it; it is there from {} on", node.opset, shown,
                       entry->second.versions.front());
  return "";
}

void translate_nodes(const std::vector<FlatNode>& nodes, ImportContext& import) {
  Failures failures;
  for (const FlatNode& node : nodes) {
    if (failures.reaches(node)) {
      failures.mark(node);
      continue;
    }
    if (import.scope.in_subgraph() && ++import.unrolled > kMaxUnrolled) {
      throw Error(ErrorKind::unsupported, "loops expand to more than {} nodes", kMaxUnrolled);
    }
    try {
      translate(node, import);
    } catch (const Error& e) {
      failures.add(node, e);
    }
  }
  failures.check();
}

}  // namespace arbalest
