// The one exception type of Arbalest, and require(), which throws it.
//
// Text of an error: "subject: what is wrong, got and expected; what to do". The code that knows the subject (a node, a
// file) adds it in front with Error::within, so that the code which finds the fault need not know who called it.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace arbalest {

enum class ErrorKind {
  model,        // the ONNX model is faulty
  usage,        // the user asked for something that does not exist or does not fit; exit code 2
  unsupported,  // a valid model or request that Arbalest cannot handle
  io,           // a file, a data set, the disk
  device,       // memory or hardware of a device
  internal,     // a defect of Arbalest itself
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}

  template <class... Args>
  Error(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args)
      : Error(kind, fmt::format(format, std::forward<Args>(args)...)) {}

  ErrorKind kind() const { return kind_; }

  // The same error with "subject: " in front.
  Error within(const std::string& subject) const { return Error(kind_, subject + ": " + what()); }

 private:
  ErrorKind kind_;
};

}  // namespace arbalest

// require(condition, format, arguments...) throws a model error when the condition does not hold; ensure() an internal
// error, for what no input can bring about. Macros, so that the arguments are computed only for an error: otherwise
// shapes turned into text take a quarter of the time of a long import.
#define require(condition, ...) \
  ((condition) ? void() : throw ::arbalest::Error(::arbalest::ErrorKind::model, __VA_ARGS__))
#define ensure(condition, ...) \
  ((condition) ? void() : throw ::arbalest::Error(::arbalest::ErrorKind::internal, __VA_ARGS__))
