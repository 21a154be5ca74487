#include "onnx_import/wire.h"

#include <bit>

namespace arbalest::wire {
namespace {

constexpr int kMaxVarintBytes = 10;
constexpr uint64_t kMaxFieldNumber = (1u << 29) - 1;

std::string_view between(std::string_view from, std::string_view to) { return from.substr(0, from.size() - to.size()); }

}  // namespace

bool Reader::next(Field& field) {
  if (fault_ != Fault::none || rest_.empty()) return false;
  const std::string_view begin = rest_;
  if (!read_tag(field.number, field.type)) return false;
  field.tag = between(begin, rest_);
  if (!skip_value(field.type, field.value)) return false;
  field.whole = between(begin, rest_);
  return true;
}

bool Reader::read_varint(uint64_t& value) {
  value = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    if (rest_.empty()) return fail(Fault::past_end);
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7fu) << (7 * i);
    if (byte < 0x80u) return true;
  }
  return fail(Fault::malformed);
}

bool Reader::read_tag(uint32_t& number, Type& type) {
  uint64_t tag = 0;
  if (!read_varint(tag)) return false;
  const uint64_t n = tag >> 3;
  if (n == 0 || n > kMaxFieldNumber || (tag & 7u) > 5) return fail(Fault::malformed);
  number = static_cast<uint32_t>(n);
  type = static_cast<Type>(tag & 7u);
  return true;
}

bool Reader::skip(uint64_t count) {
  if (count > rest_.size()) return fail(Fault::past_end);
  rest_.remove_prefix(count);
  return true;
}

bool Reader::skip_value(Type type, std::string_view& value) {
  std::string_view begin = rest_;
  uint64_t number = 0;
  switch (type) {
    case Type::varint:
      if (!read_varint(number)) return false;
      break;
    case Type::fixed64:
      if (!skip(8)) return false;
      break;
    case Type::fixed32:
      if (!skip(4)) return false;
      break;
    case Type::bytes:
      if (!read_varint(number)) return false;
      begin = rest_;
      if (!skip(number)) return false;
      break;
    case Type::start_group:
      return skip_group(value);
    case Type::end_group:
      return fail(Fault::malformed);
  }
  value = between(begin, rest_);
  return true;
}

// Groups may hold groups: counted instead of recursed into. Protobuf has checked that the numbers of the tags match.
bool Reader::skip_group(std::string_view& value) {
  const std::string_view begin = rest_;
  for (int64_t open = 1; open > 0;) {
    uint32_t number = 0;
    Type type = Type::varint;
    std::string_view ignored;
    if (!read_tag(number, type)) return false;
    if (type == Type::start_group) {
      ++open;
    } else if (type == Type::end_group) {
      --open;
    } else if (!skip_value(type, ignored)) {
      return false;
    }
  }
  value = between(begin, rest_);
  return true;
}

void append_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80u; value >>= 7) out.push_back(static_cast<char>(0x80u | (value & 0x7fu)));
  out.push_back(static_cast<char>(value));
}

void append_field(std::string& out, uint32_t number, std::string_view value) {
  append_varint(out, (static_cast<uint64_t>(number) << 3) | static_cast<uint64_t>(Type::bytes));
  append_varint(out, value.size());
  out.append(value);
}

void append_field(std::string& out, uint32_t number, float value) {
  append_varint(out, (static_cast<uint64_t>(number) << 3) | static_cast<uint64_t>(Type::fixed32));
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>((bits >> shift) & 0xffu));
}

std::optional<std::string_view> find_bytes(std::string_view message, uint32_t number) {
  std::optional<std::string_view> found;
  Field field;
  for (Reader reader(message); reader.next(field);) {
    if (field.number == number && field.type == Type::bytes) found = field.value;
  }
  return found;
}

}  // namespace arbalest::wire
