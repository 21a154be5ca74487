// Bytes put together from pieces of other texts, without copying them.
//
// Adjacent pieces of the same text become one again, so what is copied unchanged stays one piece. The texts that views
// point into must outlive the object.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <vector>

namespace arbalest {

class Pieces {
 public:
  void view(std::string_view text) {
    if (text.empty()) return;
    size_ += text.size();
    if (!pieces_.empty() && pieces_.back().data() + pieces_.back().size() == text.data()) {
      pieces_.back() = {pieces_.back().data(), pieces_.back().size() + text.size()};
    } else {
      pieces_.push_back(text);
    }
  }
  void own(std::string text) {
    if (text.empty()) return;
    owned_.push_back(std::move(text));
    size_ += owned_.back().size();
    pieces_.emplace_back(owned_.back());
  }
  void append(Pieces&& other) {
    for (const std::string_view piece : other.pieces_) view(piece);
    owned_.splice(owned_.end(), other.owned_);
  }

  uint64_t size() const { return size_; }
  const std::vector<std::string_view>& pieces() const { return pieces_; }
  // Whether this is that very text, not only an equal one.
  bool is(std::string_view text) const {
    if (text.empty() || pieces_.size() != 1) return text.empty() && pieces_.empty();
    return pieces_[0].data() == text.data() && pieces_[0].size() == text.size();
  }

 private:
  std::vector<std::string_view> pieces_;
  std::list<std::string> owned_;  // a list: its strings keep their addresses when spliced
  uint64_t size_ = 0;
};

}  // namespace arbalest
