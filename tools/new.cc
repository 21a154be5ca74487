// arbalest new: writes a reference model as an ONNX file.
#include <fmt/format.h>

#include <memory>

#include "graph/base/atomic_file.h"
#include "graph/base/error.h"
#include "models/models.h"
#include "tools/command.h"
#include "tools/table.h"

namespace arbalest::tools {
namespace {

struct NewOptions {
  std::string name, out, input;
  int64_t classes = 0;
  uint64_t seed = 1;
};

// "1x28x28"
Dims parse_sizes(const std::string& text) {
  Dims dims;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t end = std::min(text.find_first_of("xX", at), text.size());
    const std::string part = text.substr(at, end - at);
    if (part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != std::string::npos)
      throw Error(ErrorKind::usage, "--input {}: expected sizes like 3x32x32", text);
    dims.push_back(std::stoll(part));
    at = end + 1;
  }
  return dims;
}

int run_new(const NewOptions& o) {
  ModelOptions options;
  if (!o.input.empty()) options.input = parse_sizes(o.input);
  if (o.classes) options.classes = o.classes;
  options.seed = o.seed;
  const std::string bytes = build_model(o.name, options);
  AtomicFile file(o.out);
  file.write(bytes);
  file.commit();
  fmt::print("wrote {}: {}, {}\n", o.out, o.name, short_bytes(static_cast<double>(bytes.size())));
  return 0;
}

}  // namespace

Run add_new(CLI::App& app) {
  auto o = std::make_shared<NewOptions>();
  CLI::App* command = app.add_subcommand("new", "write a reference model with fresh weights");
  std::string names;
  for (const std::string& name : model_names()) names += (names.empty() ? "" : ", ") + name;
  command->add_option("name", o->name, names)->required()->option_text("NAME");
  command->add_option("-o,--out", o->out, "ONNX file to write")->required();
  command->add_option("--input", o->input, "channels, height and width of an example, as CxHxW");
  command->add_option("--classes", o->classes, "number of classes")->check(CLI::PositiveNumber);
  command->add_option("--seed", o->seed, "of the weights")->capture_default_str();
  command->footer(
      "Examples:\n  arbalest new lenet -o lenet.onnx\n  arbalest new resnet20 -o resnet20.onnx --input 1x28x28 "
      "--classes 47 --seed 7");
  return [o] { return run_new(*o); };
}

}  // namespace arbalest::tools
