// The protobuf wire format: a message is a sequence of fields, each a tag (number, type) and a value.
//
// A reader walks one message without copying; Field::whole is the field's bytes as they stand, so that a writer can
// keep what it does not change. Source: protobuf "Encoding" documentation; field numbers from onnx.proto.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace arbalest::wire {

constexpr uint64_t kMaxMessageBytes = std::numeric_limits<int32_t>::max();  // protobuf counts bytes with an int

enum class Type : uint8_t { varint = 0, fixed64 = 1, bytes = 2, start_group = 3, end_group = 4, fixed32 = 5 };

struct Field {
  uint32_t number = 0;
  Type type = Type::varint;
  std::string_view whole;  // tag, length and value
  std::string_view tag;    // as encoded
  std::string_view value;  // without tag and length; a group's value is its fields and its end tag
};

enum class Fault : uint8_t { none, past_end, malformed };

class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}

  // The next field; false at the end of the message or at a fault.
  bool next(Field& field);
  Fault fault() const { return fault_; }

 private:
  bool read_varint(uint64_t& value);
  bool read_tag(uint32_t& number, Type& type);
  bool skip(uint64_t count);
  bool skip_value(Type type, std::string_view& value);
  bool skip_group(std::string_view& value);
  bool fail(Fault fault) {
    fault_ = fault;
    return false;
  }

  std::string_view rest_;
  Fault fault_ = Fault::none;
};

void append_varint(std::string& out, uint64_t value);
void append_field(std::string& out, uint32_t number, std::string_view value);  // type bytes
void append_field(std::string& out, uint32_t number, float value);             // type fixed32

// The value of a string field of the message; the last one counts, as protobuf has it.
std::optional<std::string_view> find_bytes(std::string_view message, uint32_t number);

}  // namespace arbalest::wire
