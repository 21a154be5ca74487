#include "tools/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "graph/base/error.h"

namespace arbalest::tools {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::array<uint32_t, 256> crc32c_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82F63B78u : 0);  // Castagnoli's polynomial, reflected
    table[i] = c;
  }
  return table;
}

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

// Why masked: a sum of data that hold sums of their own is weak.
std::string masked_sum(std::string_view bytes) {
  const uint32_t sum = crc32c(bytes);
  return little_endian(((sum >> 15) | (sum << 17)) + 0xA282EAD8u);
}

// The encoding of Protocol Buffers: each field is a key, (number << 3) | type, and its value.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string integer_field(int number, uint64_t value) {
  return varint(static_cast<uint64_t>(number) << 3) + varint(value);
}

std::string double_field(int number, double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return varint(static_cast<uint64_t>(number) << 3 | 1) + little_endian(bits);
}

std::string float_field(int number, float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return varint(static_cast<uint64_t>(number) << 3 | 5) + little_endian(bits);
}

std::string bytes_field(int number, std::string_view bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7; Summary: value = 1; Value: tag = 1,
// simple_value = 2; SessionLog: status = 1.
constexpr int kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr uint64_t kSessionStart = 1;

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = crc32c_table();
  uint32_t c = ~0u;
  for (const char byte : bytes) c = (c >> 8) ^ table[(c ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~c;
}

EventFile::EventFile(const std::string& folder, int64_t first) : file_(nullptr, std::fclose) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  // TensorBoard reads the files of a folder in the order of their names.
  const std::string name = fmt::format("events.out.tfevents.{:010}.{}.{}", static_cast<int64_t>(now()), host, getpid());
  path_ = (std::filesystem::path(folder) / name).string();
  file_.reset(std::fopen(path_.c_str(), "wb"));
  if (!file_) throw Error(ErrorKind::io, "{}: cannot be written: {}", path_, std::strerror(errno));
  write_event(0, bytes_field(kFileVersion, "brain.Event:2"));
  if (first > 0) write_event(first + 1, bytes_field(kSessionLog, integer_field(1, kSessionStart)));
}

void EventFile::write(int64_t iteration, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars)
    summary += bytes_field(1, bytes_field(1, tag) + float_field(2, static_cast<float>(value)));
  write_event(iteration, bytes_field(kSummary, summary));
}

void EventFile::write_event(int64_t iteration, std::string_view content) {
  const std::string data =
      double_field(1, now()) + integer_field(2, static_cast<uint64_t>(iteration)) + std::string(content);
  const std::string length = little_endian(static_cast<uint64_t>(data.size()));
  const std::string record = length + masked_sum(length) + data + masked_sum(data);
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() || std::fflush(file_.get()) != 0)
    throw Error(ErrorKind::io, "{}: cannot be written: {}", path_, std::strerror(errno));
}

}  // namespace arbalest::tools
