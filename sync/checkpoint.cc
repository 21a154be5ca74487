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
constexpr uint32_t kVersion = 3;
constexpr const char* kPrefix = "checkpoint-";
constexpr const char* kSuffix = ".arbalest";

class SummedWriter {
 public:
  explicit SummedWriter(AtomicFile& file) : file_(file) {}
  void bytes(std::span<const std::byte> data) {
    if (data.empty()) return;  // zlib would begin anew
    file_.write(data);
    sum_ = crc32_z(sum_, reinterpret_cast<const Bytef*>(data.data()), data.size());
  }
  template <class T>
  void number(T n) {
    bytes(std::as_bytes(std::span(&n, 1)));
  }
  void sized(std::span<const std::byte> data) {
    number(uint64_t{data.size()});
    bytes(data);
  }
  void sized(const std::string& text) { sized(std::as_bytes(std::span(text))); }
  uint32_t sum() const { return static_cast<uint32_t>(sum_); }

 private:
  AtomicFile& file_;
  uLong sum_ = crc32_z(0, nullptr, 0);
};

// Reads what the checksum has vouched for; still trusts no size.
class CheckpointReader {
 public:
  CheckpointReader(const std::string& path, std::span<const std::byte> data) : path_(path), data_(data) {}
  template <class T = uint64_t>
  T number() {
    T n = 0;
    std::memcpy(&n, take(sizeof n).data(), sizeof n);
    return n;
  }
  std::span<const std::byte> sized() { return take(number()); }
  std::string text() {
    const auto bytes = sized();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const std::byte> take(uint64_t size) {
    if (size > data_.size()) throw Error(ErrorKind::model, "{}: ends too early", path_);
    const auto part = data_.first(size);
    data_ = data_.subspan(size);
    return part;
  }

 private:
  const std::string& path_;
  std::span<const std::byte> data_;
};

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
  SummedWriter out(file);
  out.bytes(std::as_bytes(std::span(kMagic)));
  out.number(kVersion);
  out.number(uint64_t{checkpoint.facts.size()});
  for (const auto& [name, value] : checkpoint.facts) out.sized(name), out.sized(value);
  out.number(uint64_t{checkpoint.arrays.size()});
  for (const auto& [name, bytes] : checkpoint.arrays) out.sized(name), out.sized(bytes);
  out.number(out.sum());
  file.commit();
}

Checkpoint read_checkpoint(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error(ErrorKind::io, "{}: cannot be read", path);
  AlignedBytes content(static_cast<size_t>(file.tellg()));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!file) throw Error(ErrorKind::io, "{}: cannot be read", path);
  const std::span<const std::byte> all(content);
  const auto magic = std::as_bytes(std::span(kMagic));
  uint32_t sum = 0;
  if (all.size() < magic.size() + sizeof sum || !std::equal(magic.begin(), magic.end(), all.begin()))
    throw Error(ErrorKind::model, "{}: is not a checkpoint", path);
  const auto summed = all.first(all.size() - sizeof sum);
  std::memcpy(&sum, all.last(sizeof sum).data(), sizeof sum);
  if (crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(summed.data()), summed.size()) != sum)
    throw Error(ErrorKind::model, "{}: is damaged or cut off (its checksum differs)", path);
  CheckpointReader reader(path, summed);
  reader.take(magic.size());
  const auto version = reader.number<uint32_t>();
  if (version != kVersion)
    throw Error(ErrorKind::unsupported, "{}: has version {} of checkpoints, this program reads {}; use {} program",
                path, version, kVersion, version > kVersion ? "a newer" : "an older");
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
  remove_abandoned_files(folder_);
}

CheckpointFolder::~CheckpointFolder() {
  if (writer_.joinable()) writer_.join();
}

std::vector<std::string> CheckpointFolder::paths() const {
  std::vector<std::string> found;
  for (const auto& entry : filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name.starts_with(kPrefix) && name.ends_with(kSuffix))
      found.push_back(entry.path().string());
  }
  std::sort(found.rbegin(), found.rend());  // examples are written with leading zeros
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

void CheckpointFolder::write(Checkpoint checkpoint, int64_t examples) {
  wait();
  const std::string path = (filesystem::path(folder_) / fmt::format("{}{:015}{}", kPrefix, examples, kSuffix)).string();
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
  std::vector<std::string> all = paths();
  all.erase(all.begin(), std::find(all.begin(), all.end(), path));
  for (size_t i = static_cast<size_t>(keep_); i < all.size(); ++i) filesystem::remove(all[i]);
}

void CheckpointFolder::wait() {
  if (writer_.joinable()) writer_.join();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace arbalest
