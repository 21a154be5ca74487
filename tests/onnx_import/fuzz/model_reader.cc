#include "tests/onnx_import/fuzz/model_reader.h"

#include <stdexcept>

#include "graph/base/error.h"
#include "graph/differentiate.h"
#include "graph/loss.h"
#include "onnx_import/classification.h"
#include "onnx_import/edits/model_edits.h"
#include "onnx_import/importer.h"
#include "onnx_import/model_file.h"

namespace arbalest {
namespace {

constexpr const char* kPath = "/nowhere/fuzzed.onnx";  // no external data there

template <class F>
void must_explain(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.empty()) throw std::logic_error("an error without text");
    if (e.kind() == ErrorKind::internal) throw std::logic_error("internal error: " + text);
  }
}

void differentiated(Graph graph) {
  LossOptions loss;
  loss.kind = LossKind::output_sum;
  attach_loss(graph, loss);
  Bindings bindings;
  for (const std::string& symbol : symbols(graph)) bindings[symbol] = 2;
  arbalest::bind(graph, bindings);  // not std::bind, which takes a map that may change
  differentiate(graph);
}

}  // namespace

void read_as_model(const std::string& bytes) {
  must_explain([&] {
    const ModelPtr model = load_model_bytes(bytes, kPath);
    must_explain([&] { classify_tensors(*model, {}); });
    must_explain([&] {
      std::vector<std::string> notices;
      edit_model(model, {}, notices);
    });
    ImportOptions options;
    must_explain([&] { differentiated(import_model(*model, options).graph); });
    options.mode = ImportMode::inference;
    must_explain([&] { import_model(*model, options); });
  });
}

}  // namespace arbalest
