#include "graph/base/error.h"
#include "onnx_import/op_context.h"

namespace arbalest {

void register_operators(Translator& t);  // generated: calls register_<family>() of every file in ops/

void Translator::add(const std::string& op, std::vector<int> versions, Translation f, const std::string& domain) {
  const bool is_new = entries_.emplace(std::pair(domain, op), Entry{std::move(versions), std::move(f)}).second;
  ensure(is_new, "operator '{}' of domain '{}' is registered twice", op, domain);
}

std::optional<int> Translator::Entry::version_for(int opset) const {
  std::optional<int> found;
  for (const int version : versions) {
    if (version <= opset) found = version;
  }
  return found;
}

const Translator& translator() {
  static const Translator all = [] {
    Translator t;
    register_operators(t);
    return t;
  }();
  return all;
}

}  // namespace arbalest
