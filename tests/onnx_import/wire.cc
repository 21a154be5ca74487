#include "onnx_import/wire.h"

#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include "onnx_import/pieces.h"

namespace arbalest::wire {
namespace {

using ::testing::ElementsAre;

Fault wire_fault(std::string_view message) {
  Reader reader(message);
  Field field;
  while (reader.next(field)) {
  }
  return reader.fault();
}

TEST(Wire, ReadsWhatProtobufWrites) {
  onnx::TensorProto t;
  t.add_dims(300);
  t.set_data_type(1);
  t.set_name("weight");
  t.add_float_data(1.5f);
  const std::string bytes = t.SerializeAsString();

  std::vector<uint32_t> numbers;
  std::string copy;
  Field field;
  Reader reader(bytes);
  while (reader.next(field)) {
    numbers.push_back(field.number);
    copy += field.whole;
  }
  EXPECT_EQ(reader.fault(), Fault::none);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(copy, bytes);
  EXPECT_EQ(find_bytes(bytes, 8), "weight");
  EXPECT_EQ(find_bytes(bytes, 9), std::nullopt);
}

TEST(Wire, ProtobufReadsWhatItWrites) {
  std::string bytes;
  append_field(bytes, 8, std::string(200, 'n'));
  onnx::TensorProto t;
  ASSERT_TRUE(t.ParseFromString(bytes));
  EXPECT_EQ(t.name(), std::string(200, 'n'));

  bytes.clear();
  append_field(bytes, 2, -1.25f);
  onnx::AttributeProto a;
  ASSERT_TRUE(a.ParseFromString(bytes));
  EXPECT_EQ(a.f(), -1.25f);
}

TEST(Wire, LastOfSeveralStringsCounts) {
  std::string bytes;
  append_field(bytes, 8, std::string_view("first"));
  append_field(bytes, 8, std::string_view("last"));
  EXPECT_EQ(find_bytes(bytes, 8), "last");
}

TEST(Wire, GroupsAreSkippedWhole) {
  // Field 1 is a group that holds field 2 and another group; then field 3, a varint.
  const std::string bytes("\x0b\x10\x05\x13\x14\x0c\x18\x07", 8);
  Reader reader(bytes);
  Field field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.whole.size(), 6u);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 3u);
  EXPECT_FALSE(reader.next(field));
  EXPECT_EQ(reader.fault(), Fault::none);
}

TEST(Wire, Faults) {
  EXPECT_EQ(wire_fault(std::string_view("\x0a\x05"
                                        "ab",
                                        4)),
            Fault::past_end);                                                              // a length beyond the end
  EXPECT_EQ(wire_fault("\x08"), Fault::past_end);                                          // no value
  EXPECT_EQ(wire_fault("\x0d\x01"), Fault::past_end);                                      // two of four bytes
  EXPECT_EQ(wire_fault("\x0b\x10\x05"), Fault::past_end);                                  // a group without its end
  EXPECT_EQ(wire_fault("\x0c"), Fault::malformed);                                         // the end of no group
  EXPECT_EQ(wire_fault("\x0e"), Fault::malformed);                                         // type 6
  EXPECT_EQ(wire_fault(std::string_view("\0\0", 2)), Fault::malformed);                    // field 0
  EXPECT_EQ(wire_fault(std::string(11, '\xff')), Fault::malformed);                        // a number without an end
  EXPECT_EQ(wire_fault("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Fault::past_end);  // a length of 2^64 - 1
}

TEST(Pieces, AdjacentViewsBecomeOne) {
  const std::string text = "abcdefgh";
  const std::string_view view = text;
  Pieces p;
  p.view(view.substr(0, 3));
  p.view(view.substr(3, 5));
  EXPECT_TRUE(p.is(view));
  EXPECT_EQ(p.size(), 8u);

  Pieces q;
  q.view(view.substr(0, 2));
  q.own("X");
  q.append(std::move(p));
  std::string all;
  for (const auto piece : q.pieces()) all += piece;
  EXPECT_EQ(all, "abXabcdefgh");
  EXPECT_EQ(q.size(), all.size());
  EXPECT_FALSE(q.is(all));
}

}  // namespace
}  // namespace arbalest::wire
