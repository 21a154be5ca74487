#include "data/npy.h"

#include <charconv>
#include <map>
#include <string>
#include <string_view>

#include "graph/base/error.h"

namespace arbalest {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kGreatestHeader = 1 << 16;

// The subset of Python's literals that an .npy header consists of.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  NpyHeader parse() {
    bool fortran = false;
    NpyHeader header;
    bool has_type = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        set_type(header);
        has_type = true;
      } else if (key == "fortran_order") {
        fortran = boolean();
      } else if (key == "shape") {
        header.dims = tuple();
        has_shape = true;
      } else {
        throw Error(ErrorKind::io, "unknown key '{}' in the .npy header", key);
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_type || !has_shape) throw Error(ErrorKind::io, "the .npy header lacks 'descr' or 'shape'");
    if (fortran && header.dims.size() > 1) {
      throw Error(ErrorKind::io, "is in Fortran order; store numpy.ascontiguousarray of it");
    }
    return header;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }

  bool accept(char c) {
    skip_space();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool accept(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void expect(char c) {
    if (!accept(c)) throw Error(ErrorKind::io, "the .npy header cannot be read: '{}' expected", c);
  }

  std::string_view string() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) throw Error(ErrorKind::io, "the .npy header cannot be read: a string expected");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool boolean() {
    if (accept("True")) return true;
    if (accept("False")) return false;
    throw Error(ErrorKind::io, "the .npy header cannot be read: True or False expected");
  }

  Dims tuple() {
    Dims dims;
    expect('(');
    while (!accept(')')) {
      skip_space();
      int64_t size = 0;
      const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (code != std::errc() || size < 0)
        throw Error(ErrorKind::io, "the .npy header cannot be read: a size expected");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      accept('L');  // Python 2
      dims.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  void set_type(NpyHeader& header) {
    static const std::map<std::string_view, DataType> types{
        {"f4", DataType::f32}, {"f8", DataType::f64},    {"i1", DataType::i8}, {"i2", DataType::i16},
        {"i4", DataType::i32}, {"i8", DataType::i64},    {"u1", DataType::u8}, {"u2", DataType::u16},
        {"u4", DataType::u32}, {"b1", DataType::boolean}};
    skip_space();
    if (!rest_.empty() && rest_[0] == '[') throw Error(ErrorKind::io, "has records as elements; store plain numbers");
    const std::string_view text = string();
    const auto type = text.empty() ? types.end() : types.find(text.substr(1));
    if (type == types.end() || std::string_view("<>|=").find(text[0]) == std::string_view::npos) {
      throw Error(ErrorKind::io, "element type '{}' cannot be read; store f4, f8, i1, i2, i4, i8, u1, u2, u4 or b1",
                  text);
    }
    header.dtype = type->second;
    header.order = text[0] == '>' ? std::endian::big : std::endian::little;
  }

  std::string_view rest_;
};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Version 1.0 has a 16-bit length of the dictionary, later ones a 32-bit one.
size_t length_field_bytes(std::span<const std::byte> preamble) {
  const std::string_view text = as_text(preamble);
  if (text.size() < kNpyPreambleBytes || !text.starts_with(kMagic)) throw Error(ErrorKind::io, "is not an .npy array");
  const int version = std::to_integer<int>(preamble[6]);
  if (version < 1 || version > 3) throw Error(ErrorKind::io, "version {} of .npy is unknown", version);
  return version == 1 ? 2 : 4;
}

}  // namespace

size_t npy_header_bytes(std::span<const std::byte> preamble) {
  const size_t field = length_field_bytes(preamble);
  size_t length = 0;
  for (size_t i = field; i-- > 0;) length = length << 8 | std::to_integer<size_t>(preamble[8 + i]);
  if (length > kGreatestHeader) throw Error(ErrorKind::io, "has an .npy header of {} bytes", length);
  return 8 + field + length;
}

NpyHeader parse_npy_header(std::span<const std::byte> header) {
  const size_t text_at = 8 + length_field_bytes(header);
  return HeaderParser(as_text(header.subspan(text_at))).parse();
}

}  // namespace arbalest
