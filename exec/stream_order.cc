#include "exec/stream_order.h"

#include <algorithm>
#include <map>

#include "graph/base/error.h"

namespace arbalest {
namespace {

using Bits = std::vector<uint64_t>;
bool has(const Bits& bits, int i) { return bits[static_cast<size_t>(i) / 64] >> (i % 64) & 1; }
void set(Bits& bits, int i) { bits[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64); }

// Iterations unrolled as far as the longest lag reaches: node t * tasks + i is task i of iteration t. A path between
// two nodes never leaves the iterations between them, hence these tell everything.
class Unrolled {
 public:
  Unrolled(std::span<const int> stream_of, std::span<const Wait> waits) : count_(static_cast<int>(stream_of.size())) {
    int iterations = 1;
    for (const Wait& wait : waits) iterations = std::max(iterations, wait.lag + 1);
    const int nodes = iterations * count_;
    successors_.resize(static_cast<size_t>(nodes));
    std::map<int, int> last;  // node of each stream
    for (int node = 0; node < nodes; ++node) {
      const auto [it, first] = last.emplace(stream_of[static_cast<size_t>(node % count_)], node);
      if (!first) successors(it->second).push_back(node);
      it->second = node;
    }
    for (const Wait& wait : waits) {
      for (int from = wait.from; from + wait.lag * count_ < nodes; from += count_) {
        successors(from).push_back(from - wait.from + wait.lag * count_ + wait.to);
      }
    }
    reachable_.assign(successors_.size(), Bits((successors_.size() + 63) / 64, 0));
    for (int node = nodes - 1; node >= 0; --node) {  // edges point to higher nodes only
      Bits& reached = reachable_[static_cast<size_t>(node)];
      set(reached, node);
      for (const int next : successors(node)) {
        const Bits& more = reachable_[static_cast<size_t>(next)];
        for (size_t i = 0; i < reached.size(); ++i) reached[i] |= more[i];
      }
    }
  }

  // Whether another path than the wait itself leads to its target.
  bool follows_from_others(const Wait& wait) const {
    const int target = wait.lag * count_ + wait.to;
    const std::vector<int>& next = successors_[static_cast<size_t>(wait.from)];
    return std::any_of(next.begin(), next.end(),
                       [&](int node) { return node != target && has(reachable_[static_cast<size_t>(node)], target); });
  }

 private:
  std::vector<int>& successors(int node) { return successors_[static_cast<size_t>(node)]; }

  int count_;
  std::vector<std::vector<int>> successors_;
  std::vector<Bits> reachable_;
};

}  // namespace

std::vector<Wait> stream_order(std::span<const int> stream_of, std::span<const Hazard> hazards) {
  std::vector<Wait> waits;
  for (const Hazard& hazard : hazards) {
    ensure(hazard.lag > 0 || (hazard.lag == 0 && hazard.from < hazard.to), "stream order: hazard {} -> {} with lag {}",
           hazard.from, hazard.to, hazard.lag);
    if (stream_of[static_cast<size_t>(hazard.from)] != stream_of[static_cast<size_t>(hazard.to)]) {
      waits.push_back({hazard.to, hazard.from, hazard.lag});
    }
  }
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  const Unrolled all(stream_of, waits);  // a transitive reduction is unique: all redundant waits can go at once
  waits.erase(std::remove_if(waits.begin(), waits.end(), [&](const Wait& w) { return all.follows_from_others(w); }),
              waits.end());
  return waits;
}

}  // namespace arbalest
