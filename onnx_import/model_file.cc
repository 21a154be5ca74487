#include "onnx_import/model_file.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include "graph/base/error.h"
#include "graph/base/file_descriptor.h"
#include "onnx_import/wire.h"

namespace arbalest {
namespace {

constexpr int64_t kOldestIr = 3;  // earlier ones have no opset imports
constexpr int64_t kNewestIr = 14;
constexpr int64_t kNewestOpset = 28;
constexpr int kMaxNesting = 100;    // protobuf's own default
constexpr int kDeepNesting = 2000;  // to tell deep nesting from corruption; still far from the end of the stack

std::string read_bytes(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw Error(ErrorKind::io, "{}: cannot be opened: {}", path, std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw Error(ErrorKind::io, "{}: {}", path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw Error(ErrorKind::io, "{}: not a regular file", path);
  if (static_cast<uint64_t>(status.st_size) > wire::kMaxMessageBytes) {
    throw Error(ErrorKind::unsupported,
                "{}: {} bytes, but one ONNX file has at most 2 GiB; save the model with its weights as external data",
                path, status.st_size);
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pread(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(ErrorKind::io, "{}: cannot be read: {}", path, std::strerror(errno));
    if (n == 0) throw Error(ErrorKind::io, "{}: became shorter while it was read", path);
    done += static_cast<size_t>(n);
  }
  return bytes;
}

bool parse(const std::string& bytes, int max_nesting, onnx::ModelProto& proto) {
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(std::numeric_limits<int32_t>::max());
  stream.SetRecursionLimit(max_nesting);
  return proto.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.begin() + std::min<size_t>(bytes.size(), 512), [](char c) {
    const auto u = static_cast<uint8_t>(c);
    return u >= 0x20u || c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
}

bool runs_past_end(std::string_view bytes) {
  wire::Field field;
  wire::Reader reader(bytes);
  while (reader.next(field)) {
  }
  return reader.fault() == wire::Fault::past_end;
}

// Says what the bytes are, since they are no ModelProto with a graph.
Error not_a_model(const std::string& bytes, const std::string& path) {
  const auto error = [&](std::string_view what) {
    return Error(ErrorKind::model, "{}: not an ONNX model: {}", path, what);
  };
  const std::string_view view = bytes;
  if (view.empty()) return error("the file is empty");
  if (view.starts_with("version https://git-lfs")) {
    return error("a Git LFS pointer to it; fetch the file with 'git lfs pull'");
  }
  if (view.starts_with("<")) return error("an HTML or XML page; was the download refused?");
  if (view.starts_with("PK\x03\x04"))
    return error("a zip archive, perhaps a PyTorch checkpoint; export it to ONNX first");
  if (view.starts_with("\x1f\x8b")) return error("gzip data; unpack it first");
  if (view.starts_with("\x89HDF")) return error("an HDF5 file, perhaps a Keras model; convert it to ONNX first");
  if (is_text(view)) return error("a text file");
  onnx::ModelProto proto;
  if (parse(bytes, kMaxNesting, proto)) return error("it has no graph");
  if (runs_past_end(view)) {
    return Error(ErrorKind::model,
                 "{}: truncated: the file ends after {} bytes, in the middle of the model; copy or download it again",
                 path, view.size());
  }
  if (parse(bytes, kDeepNesting, proto)) {
    return Error(ErrorKind::unsupported,
                 "{}: graphs in graphs are nested too deep: more than {} protobuf messages in each other", path,
                 kMaxNesting);
  }
  return error("its bytes are corrupt, or nested far too deep, for the protobuf message ModelProto");
}

void check_versions(const onnx::ModelProto& proto) {
  require(proto.has_ir_version(), "the model has no ir_version, which ONNX requires");
  const int64_t ir = proto.ir_version();
  if (ir < kOldestIr || ir > kNewestIr) {
    throw Error(ErrorKind::unsupported, "IR version {}; versions {} to {} are known", ir, kOldestIr, kNewestIr);
  }
  require(proto.opset_import_size() > 0,
          "the model imports no operator set (opset_import is empty), which ONNX requires");
  std::map<std::string, int64_t> versions;
  for (const auto& import : proto.opset_import()) {
    const bool is_default = import.domain().empty() || import.domain() == "ai.onnx";
    const std::string domain = is_default ? "ai.onnx" : import.domain();
    const auto [known, is_new] = versions.emplace(domain, import.version());
    require(is_new || known->second == import.version(), "opset_import has versions {} and {} of domain '{}'",
            known->second, import.version(), domain);
    if (!is_default) continue;
    require(import.version() >= 1, "opset_import asks for version {} of the default domain", import.version());
    if (import.version() > kNewestOpset) {
      throw Error(ErrorKind::unsupported, "operator set (opset) {} of the default domain; the newest known one is {}",
                  import.version(), kNewestOpset);
    }
  }
}

class UniqueNames {
 public:
  explicit UniqueNames(std::string_view kind) : kind_(kind) {}
  void add(const std::string& name) {
    require(!name.empty(), "an {} has no name", kind_);
    require(names_.insert(name).second, "duplicate {} '{}': two have this name", kind_, name);
  }

 private:
  std::string_view kind_;
  std::set<std::string_view> names_;
};

// Recursion is as deep as the parser allowed.
void check_names(const onnx::GraphProto& graph) {
  UniqueNames initializers("initializer");
  for (const auto& t : graph.initializer()) initializers.add(t.name());
  for (const auto& t : graph.sparse_initializer()) initializers.add(t.values().name());
  UniqueNames inputs("input");
  for (const auto& v : graph.input()) inputs.add(v.name());
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) check_names(attribute.g());
      for (const auto& g : attribute.graphs()) check_names(g);
    }
  }
}

}  // namespace

ModelFile read_model_file(const std::string& path) { return parse_model_file(read_bytes(path), path); }

ModelFile parse_model_file(std::string bytes, const std::string& path) {
  ModelFile model{path, std::move(bytes), {}};
  if (!parse(model.bytes, kMaxNesting, model.proto) || !model.proto.has_graph()) throw not_a_model(model.bytes, path);
  try {
    check_versions(model.proto);
    check_names(model.proto.graph());
  } catch (const Error& e) {
    throw e.within(path);
  }
  return model;
}

}  // namespace arbalest
