// arbalest: trains ONNX models.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "graph/base/error.h"
#include "tools/command.h"

namespace arbalest::tools {
namespace {

int fail(const Error& e) {
  fmt::print(stderr, "error: {}\n", e.what());
  return e.kind() == ErrorKind::usage ? 2 : 1;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Arbalest trains ONNX models: it reads a model that another framework exported, trains it on this machine, and\n"
      "writes the same ONNX file with trained weights.",
      "arbalest"};
  app.require_subcommand(1);
  app.set_version_flag("--version", ARBALEST_VERSION);
  app.footer(
      "Example:\n"
      "  arbalest new lenet -o lenet.onnx\n"
      "  arbalest train lenet.onnx --data fashion-mnist --learners 2 --batch 16 -o trained.onnx\n"
      "  arbalest eval trained.onnx --data fashion-mnist\n"
      "\n'arbalest COMMAND --help' explains each command.");
  const std::pair<const char*, Run> commands[] = {
      {"new", add_new(app)},           {"inspect", add_inspect(app)},     {"train", add_train(app)},
      {"eval", add_eval(app)},         {"verify", add_verify(app)},       {"bench", add_bench(app)},
      {"simulate", add_simulate(app)}, {"operators", add_operators(app)},
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  for (const auto& command : commands)
    if (app.got_subcommand(command.first)) return command.second();
  return 2;
}

}  // namespace
}  // namespace arbalest::tools

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit of its size: an error of the write, not the end
  try {
    return arbalest::tools::run(argc, argv);
  } catch (const arbalest::Error& e) {
    return arbalest::tools::fail(e);
  } catch (const std::bad_alloc&) {
    return arbalest::tools::fail({arbalest::ErrorKind::device, "this machine's memory does not suffice"});
  } catch (const std::exception& e) {
    return arbalest::tools::fail({arbalest::ErrorKind::internal, "{}", e.what()});
  }
}
