#include "exec/cpu/parallel.h"
#include "exec/optimiser/average.h"
#include "sync/collective/collective.h"

namespace arbalest {
namespace {

class LocalCollective : public Collective {
 public:
  void add_all_reduce(TaskGraph& tasks, std::span<const ReducePart> parts, ElementRange elements, int level) override {
    std::vector<MemoryRange> reads;
    std::vector<const float*> sources;
    for (const ReducePart& part : parts) {
      reads.push_back(range_of<float>(part.in_memory, elements));
      sources.push_back(part.in);
    }
    for (const ReducePart& part : parts) {
      tasks.add({"all-reduce",
                 part.worker.stream,
                 reads,
                 {range_of<float>(part.out_memory, elements)},
                 [=](int64_t) {
                   parallel_for(part.worker.threads, elements,
                                [&](int64_t begin, int64_t end) { sum_of(sources, 1, part.out + begin, begin, end); });
                 },
                 level});
    }
  }
};

}  // namespace

std::unique_ptr<Collective> make_local_collective() { return std::make_unique<LocalCollective>(); }

}  // namespace arbalest
