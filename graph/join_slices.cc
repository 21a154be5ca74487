#include "graph/join_slices.h"

#include <algorithm>
#include <map>

namespace arbalest {

namespace {

// A gradient dy for the entries from `start` on, `count` of them, of one axis; zero elsewhere.
struct CutPiece {
  Value dy;
  int64_t start, count;

  int64_t end() const { return start + count; }
};

struct Cut {
  size_t axis;
  CutPiece piece;
};

std::optional<Cut> cut_of(const Value& term) {
  Graph& graph = term.builder().graph();
  const Node* producer = graph.producer(term.id());
  const auto* slice = producer ? std::get_if<SliceBackward>(&producer->primitive) : nullptr;
  if (!slice) return std::nullopt;
  const Value dy = term.builder().value(producer->inputs[0]);
  std::optional<Cut> cut;
  for (size_t i = 0; i < slice->shape.size(); ++i) {
    if (slice->step[i] != 1) return std::nullopt;
    if (dy.shape()[i] == slice->shape[i]) continue;
    const bool is_known = slice->start[i].is_constant() && dy.shape()[i].is_constant() && slice->shape[i].is_constant();
    if (cut || !is_known) return std::nullopt;
    cut = Cut{i, {dy, slice->start[i].value(), dy.shape()[i].value()}};
  }
  return cut;
}

Value padded(const CutPiece& piece, size_t axis, int64_t begin, int64_t end) {
  if (begin == 0 && end == 0) return piece.dy;
  const size_t rank = piece.dy.shape().size();
  Pad pad{std::vector<Dim>(rank, 0), std::vector<Dim>(rank, 0)};
  pad.begin[axis] = begin;
  pad.end[axis] = end;
  return piece.dy.builder().emit_one(std::move(pad), {piece.dy});
}

// Pieces in order, none overlapping another, side by side.
Value joined(const std::vector<CutPiece>& pieces, size_t axis, int64_t size) {
  Values parts;
  int64_t done = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const int64_t rest = i + 1 == pieces.size() ? size - pieces[i].end() : 0;
    parts.push_back(padded(pieces[i], axis, pieces[i].start - done, rest));
    done = pieces[i].end();
  }
  return concat(parts, static_cast<int>(axis));
}

// The pieces in as few rows as it takes so that none overlaps another of its row.
std::vector<std::vector<CutPiece>> rows_of(std::vector<CutPiece> pieces) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const CutPiece& a, const CutPiece& b) { return a.start < b.start; });
  std::vector<std::vector<CutPiece>> rows;
  std::multimap<int64_t, size_t> ends;  // of each row
  for (const CutPiece& piece : pieces) {
    const auto fits = ends.begin();
    if (fits != ends.end() && fits->first <= piece.start) {
      const size_t row = fits->second;
      ends.erase(fits);
      rows[row].push_back(piece);
      ends.emplace(piece.end(), row);
    } else {
      ends.emplace(piece.end(), rows.size());
      rows.push_back({piece});
    }
  }
  return rows;
}

}  // namespace

Values join_slices(const Values& terms) {
  Values result;
  std::map<size_t, std::vector<CutPiece>> pieces;  // by axis
  for (const Value& term : terms) {
    if (const auto cut = cut_of(term)) {
      pieces[cut->axis].push_back(cut->piece);
    } else {
      result.push_back(term);
    }
  }
  for (const auto& [axis, along] : pieces) {
    const int64_t size = terms[0].shape()[axis].value();
    for (const std::vector<CutPiece>& row : rows_of(along)) result.push_back(joined(row, axis, size));
  }
  return result;
}

}  // namespace arbalest
