#include "sync/checkpoint.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "graph/base/atomic_file.h"
#include "graph/base/error.h"

namespace arbalest {
namespace {

namespace filesystem = std::filesystem;

constexpr std::string_view kMagic = "arbalest checkpoint\n";
constexpr uint32_t kVersion = 2;
constexpr const char* kPrefix = "checkpoint-";
constexpr const char* kSuffix = ".arbalest";

class SummedWriter {
 public:
  explicit SummedWriter(AtomicFile& file) : file_(file) {}
  void number(uint64_t n) { bytes({reinterpret_cast<const std::byte*>(&n), sizeof n}); }
  void sized(std::span<const std::byte> data) {
    number(data.size());
    bytes(data);
  }
  void sized(const std::string& text) { sized(std::as_bytes(std::span(text))); }
  uint32_t sum() const { return static_cast<uint32_t>(sum_); }

 private:
  void bytes(std::span<const std::byte> data) {
    if (data.empty()) return;  // zlib would begin anew
    file_.write(data);
    sum_ = crc32_z(sum_, reinterpret_cast<const Bytef*>(data.data()), data.size());
  }

  AtomicFile& file_;
  uLong sum_ = crc32_z(0, nullptr, 0);
};

// Reads what the checksum has vouched for; still trusts no size.
class CheckpointReader {
 public:
  CheckpointReader(const std::string& path, std::span<const std::byte> data) : path_(path), data_(data) {}
  uint64_t number() {
    uint64_t n = 0;
    std::memcpy(&n, take(sizeof n).data(), sizeof n);
    return n;
  }
  std::span<const std::byte> sized() { return take(number()); }
  std::string text() {
    const auto bytes = sized();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> take(uint64_t size) {
    if (size > data_.size()) throw Error(ErrorKind::model, "{}: ends too early", path_);
    const auto part = data_.first(size);
    data_ = data_.subspan(size);
    return part;
  }

  const std::string& path_;
  std::span<const std::byte> data_;
};

uint64_t body_size(const Checkpoint& c) {
  uint64_t size = 2 * sizeof(uint64_t);
  for (const auto& [name, value] : c.facts) size += 2 * sizeof(uint64_t) + name.size() + value.size();
  for (const auto& [name, bytes] : c.arrays) size += 2 * sizeof(uint64_t) + name.size() + bytes.size();
  return size;
}

template <class T>
std::string_view raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

const std::string& Checkpoint::fact(const std::string& name) const {
  const auto at = facts.find(name);
  if (at == facts.end()) throw Error(ErrorKind::model, "the checkpoint does not say its {}", name);
  return at->second;
}

void Checkpoint::add(const std::string& prefix, const std::vector<NamedBytes>& parts) {
  for (const NamedBytes& part : parts) arrays[prefix + part.name].assign(part.bytes.begin(), part.bytes.end());
}

bool Checkpoint::fits(const std::string& prefix, const std::vector<NamedBytes>& parts) const {
  return std::all_of(parts.begin(), parts.end(), [&](const NamedBytes& part) {
    const auto at = arrays.find(prefix + part.name);
    return at != arrays.end() && at->second.size() == part.bytes.size();
  });
}

void Checkpoint::copy_to(const std::string& prefix, const std::vector<NamedBytes>& parts) const {
  for (const NamedBytes& part : parts) {
    const auto at = arrays.find(prefix + part.name);
    ensure(at != arrays.end() && at->second.size() == part.bytes.size(), "checkpoint: {} does not fit", part.name);
    std::copy(at->second.begin(), at->second.end(), part.bytes.begin());
  }
}

void write_checkpoint(const Checkpoint& checkpoint, const std::string& path) {
  AtomicFile file(path);
  file.write(kMagic);
  file.write(raw(kVersion));
  file.write(raw(body_size(checkpoint)));
  SummedWriter body(file);
  body.number(checkpoint.facts.size());
  for (const auto& [name, value] : checkpoint.facts) body.sized(name), body.sized(value);
  body.number(checkpoint.arrays.size());
  for (const auto& [name, bytes] : checkpoint.arrays) body.sized(name), body.sized(bytes);
  file.write(raw(body.sum()));
  file.commit();
}

Checkpoint read_checkpoint(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error(ErrorKind::io, "{}: cannot be read", path);
  const auto total = static_cast<uint64_t>(file.tellg());
  file.seekg(0);
  char magic[kMagic.size()] = {};
  uint32_t version = 0, sum = 0;
  uint64_t size = 0;
  file.read(magic, sizeof magic).read(reinterpret_cast<char*>(&version), sizeof version);
  file.read(reinterpret_cast<char*>(&size), sizeof size);
  if (!file || std::string_view(magic, sizeof magic) != kMagic)
    throw Error(ErrorKind::model, "{}: is not a checkpoint", path);
  if (version != kVersion)
    throw Error(ErrorKind::unsupported, "{}: has version {} of checkpoints, this program reads {}; use {} program",
                path, version, kVersion, version > kVersion ? "a newer" : "an older");
  constexpr uint64_t kAround = sizeof magic + sizeof version + sizeof size + sizeof sum;
  if (total < kAround || size != total - kAround) throw Error(ErrorKind::model, "{}: is cut off", path);
  AlignedBytes body(size);
  file.read(reinterpret_cast<char*>(body.data()), static_cast<std::streamsize>(size));
  file.read(reinterpret_cast<char*>(&sum), sizeof sum);
  if (!file) throw Error(ErrorKind::io, "{}: cannot be read", path);
  if (crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(body.data()), body.size()) != sum)
    throw Error(ErrorKind::model, "{}: is damaged (its checksum differs)", path);
  CheckpointReader reader(path, body);
  Checkpoint checkpoint;
  for (uint64_t n = reader.number(); n > 0; --n) {
    std::string name = reader.text();
    checkpoint.facts[std::move(name)] = reader.text();
  }
  for (uint64_t n = reader.number(); n > 0; --n) {
    std::string name = reader.text();
    const auto bytes = reader.sized();
    checkpoint.arrays[std::move(name)].assign(bytes.begin(), bytes.end());
  }
  return checkpoint;
}

CheckpointFolder::CheckpointFolder(std::string folder, int keep) : folder_(std::move(folder)), keep_(keep) {
  std::error_code error;
  filesystem::create_directories(folder_, error);
  if (!filesystem::is_directory(folder_))
    throw Error(ErrorKind::io, "{}: the folder for checkpoints cannot be made: {}", folder_, error.message());
}

CheckpointFolder::~CheckpointFolder() {
  if (writer_.joinable()) writer_.join();
}

std::vector<std::string> CheckpointFolder::paths() const {
  std::vector<std::string> found;
  for (const auto& entry : filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) found.push_back(entry.path().string());
  }
  std::sort(found.rbegin(), found.rend());  // iterations are written with leading zeros
  return found;
}

std::optional<FoundCheckpoint> CheckpointFolder::newest() const {
  FoundCheckpoint found;
  for (const std::string& path : paths()) {
    try {
      found.checkpoint = read_checkpoint(path);
      found.path = path;
      return found;
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::unsupported) throw;
      found.damaged.push_back(e.what());
    }
  }
  if (!found.damaged.empty())
    throw Error(ErrorKind::model, "{}: no checkpoint is whole; the newest: {}", folder_, found.damaged.front());
  return std::nullopt;
}

void CheckpointFolder::write(Checkpoint checkpoint, int64_t iteration) {
  wait();
  const std::string path =
      (filesystem::path(folder_) / fmt::format("{}{:012}{}", kPrefix, iteration, kSuffix)).string();
  writer_ = std::thread([this, path, c = std::move(checkpoint)] {
    try {
      write_and_prune(c, path);
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

void CheckpointFolder::write_and_prune(const Checkpoint& checkpoint, const std::string& path) const {
  write_checkpoint(checkpoint, path);
  const std::vector<std::string> all = paths();
  for (size_t i = static_cast<size_t>(keep_); i < all.size(); ++i) filesystem::remove(all[i]);
}

void CheckpointFolder::wait() {
  if (writer_.joinable()) writer_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace arbalest
