// Synchronous model averaging. With all terms at their values at the start of the iteration,
//   w_j <- w_j - step_j - alpha (w_j - z)      for every learner j
//   z'   = z + alpha sum_j (w_j - z) + mu (z - z_previous)
// so z' depends on nothing that the iteration computes. z' is written over z_previous: two buffers that alternate.
//
// The optimiser's states of the learners are their own: synchronising keeps them, a restart alone clears them.
//
// One device: its synchronising streams compute z' at the beginning of the iteration, each its share. Several: they sum
// the differences, and the all-reduce and z' follow after the update, with a whole iteration of time for the others.
#include <algorithm>
#include <array>

#include "exec/cpu/parallel.h"
#include "exec/optimiser/average.h"
#include "graph/base/error.h"
#include "sync/synchroniser.h"
#include "sync/synchroniser/means.h"

namespace arbalest {
namespace {

constexpr int kSynchronises = 1;  // level of an iteration

// What a device keeps.
struct CentralModel {
  CentralModel(Device& device, int64_t elements, size_t shares)
      : z{DeviceFloats(device, elements), DeviceFloats(device, elements)}, averaged(shares) {}

  std::array<DeviceFloats, 2> z;         // after n averagings, z[n % 2] is current and the other one previous or next
  std::vector<Count> averaged;           // averagings of each share
  std::vector<DeviceFloats> difference;  // sum over this device's learners, and over all; empty for one device
  std::vector<DeviceFloats> total;
};

struct CentralMemories {
  MemoryId z, z_next, difference, total;
};

class Sma : public Synchroniser {
 public:
  Sma(const Learners& learners, Collective& collective, const SmaOptions& options)
      : learners_(learners),
        collective_(collective),
        all_(all_learners(learners)),
        alpha_(sma_alpha(options, all_.size())),
        mu_(options.central_momentum),
        tau_(options.tau),
        corrected_(all_.size()) {
    for (const DeviceLearners& d : learners_.devices) {
      central_.emplace_back(*d.device, learners_.parameters, share_count(learners_));
      if (learners_.devices.size() == 1) continue;
      central_.back().difference.emplace_back(*d.device, learners_.parameters);
      central_.back().total.emplace_back(*d.device, learners_.parameters);
    }
    settle(all_[0]->weights, true);
    copy_weights(learners_, all_[0]->weights);
    copy_first_statistics(learners_);
  }

  void add_tasks(TaskGraph& tasks) override {
    const std::vector<LearnerMemories> memories = add_learner_memories(tasks, learners_);
    const std::vector<CentralMemories> central = add_central_memories(tasks);
    const std::vector<ArraySet> weights = weights_of(learners_, memories);
    const size_t devices = learners_.devices.size();
    const size_t shares = share_count(learners_);
    for (size_t d = 0; d < devices; ++d) {
      for (size_t s = 0; s < shares; ++s) {
        devices == 1 ? add_average(tasks, weights[d], central[d], s)
                     : add_difference(tasks, d, weights[d], central[d], s);
      }
    }
    add_learn_tasks(tasks, learners_, memories);
    for (size_t d = 0, j = 0; d < devices; ++d) {
      for (const Learner& learner : learners_.devices[d].learners) {
        add_update(tasks, d, j, learner, memories[j], central[d]);
        ++j;
      }
    }
    tasks.set_levels([this](int64_t t) { return tau_.synchronises(t) ? kSynchronises : 0; });
    if (devices == 1) return;
    for (size_t s = 0; s < shares; ++s) add_reduction(tasks, central, s);
  }

  void restart(const RestartParts& parts) override {
    settle(evaluated().weights, parts.centre);
    if (parts.weights) copy_weights(learners_, evaluated().weights);
    if (parts.states) clear_states(learners_);
  }

  ModelView evaluated() override {
    average_statistics(learners_, statistics_);
    return {central_[0].z[static_cast<size_t>(averaged() % 2)].data(), statistics_.data()};
  }

  std::vector<NamedBytes> arrays() override {
    std::vector<NamedBytes> all{named_bytes("corrected", std::span(corrected_))};
    for (size_t d = 0; d < central_.size(); ++d) {
      CentralModel& c = central_[d];
      const auto add = [&](const char* name, const DeviceFloats& x) {
        all.push_back(named_bytes(numbered(name, d, central_.size()),
                                  std::span(x.data(), static_cast<size_t>(learners_.parameters))));
      };
      add("z", c.z[0]);
      add("z next", c.z[1]);
      all.push_back(named_bytes(numbered("averaged", d, central_.size()), std::span(c.averaged)));
    }
    return all;
  }

 private:
  // A failed iteration may have averaged some shares only; the buffer before it is still whole.
  int64_t averaged() const {
    const std::vector<Count>& shares = central_[0].averaged;
    const auto less = [](const Count& a, const Count& b) { return a.value < b.value; };
    return std::min_element(shares.begin(), shares.end(), less)->value;
  }

  // Makes all counts that of the whole buffer. A share that was ahead has lost its z_previous: there, or everywhere
  // where `forget` says so, z_previous := z.
  void settle(const float* z, bool forget) {
    const int64_t n = averaged();
    for (CentralModel& central : central_) {
      for (size_t s = 0; s < central.averaged.size(); ++s) {
        const ElementRange share = share_of(learners_, s);
        float* now = central.z[static_cast<size_t>(n % 2)].data();
        float* previous = central.z[static_cast<size_t>(1 - n % 2)].data();
        if (now != z) std::copy(z + share.begin, z + share.end, now + share.begin);
        if (forget || central.averaged[s].value != n) std::copy(z + share.begin, z + share.end, previous + share.begin);
        central.averaged[s].value = n;
      }
    }
    for (Count& count : corrected_) count.value = n;
  }

  std::vector<CentralMemories> add_central_memories(TaskGraph& tasks) {
    const size_t bytes = static_cast<size_t>(learners_.parameters) * sizeof(float);
    std::vector<CentralMemories> memories;
    for (size_t d = 0; d < central_.size(); ++d) {
      const auto add = [&](const char* name) { return tasks.add_memory(numbered(name, d, central_.size()), bytes); };
      CentralMemories m{add("z"), add("z next"), {}, {}};
      tasks.alternate(m.z, m.z_next);
      if (central_.size() > 1) m.difference = add("difference");
      if (central_.size() > 1) m.total = add("total difference");
      memories.push_back(m);
    }
    return memories;
  }

  // z' on the only device, in one pass.
  void add_average(TaskGraph& tasks, const ArraySet& weights, const CentralMemories& central, size_t s) {
    const ElementRange share = share_of(learners_, s);
    const auto body = [this, weights = weights.sources()](const float* z, float* other, int64_t begin, int64_t end) {
      average_models(weights, z, other, other, static_cast<float>(alpha_), static_cast<float>(mu_), begin, end);
    };
    std::vector<MemoryRange> reads = weights.ranges(share);
    reads.push_back(range_of<float>(central.z, share));
    tasks.add({numbered("average", s, share_count(learners_)),
               learners_.devices[0].synchronising[s].stream,
               reads,
               {range_of<float>(central.z_next, share)},
               averaging(0, s, body),
               kSynchronises});
  }

  void add_difference(TaskGraph& tasks, size_t d, const ArraySet& weights, const CentralMemories& central, size_t s) {
    const StreamShare worker = learners_.devices[d].synchronising[s];
    const ElementRange share = share_of(learners_, s);
    std::vector<MemoryRange> reads = weights.ranges(share);
    reads.push_back(range_of<float>(central.z, share));
    tasks.add({"difference",
               worker.stream,
               reads,
               {range_of<float>(central.difference, share)},
               [this, d, s, share, worker, weights = weights.sources()](int64_t) {
                 const CentralModel& c = central_[d];
                 const float* z = c.z[static_cast<size_t>(c.averaged[s].value % 2)].data();
                 parallel_for(worker.threads, share, [&](int64_t begin, int64_t end) {
                   sum_differences(weights, z, c.difference[0].data(), begin, end);
                 });
               },
               kSynchronises});
  }

  // All-reduce of a share, and z' of every device from it.
  void add_reduction(TaskGraph& tasks, const std::vector<CentralMemories>& memories, size_t s) {
    const ElementRange share = share_of(learners_, s);
    std::vector<ReducePart> parts;
    for (size_t d = 0; d < central_.size(); ++d) {
      const CentralModel& c = central_[d];
      parts.push_back({learners_.devices[d].synchronising[s], c.difference[0].data(), c.total[0].data(),
                       memories[d].difference, memories[d].total});
    }
    collective_.add_all_reduce(tasks, parts, share, kSynchronises);
    for (size_t d = 0; d < central_.size(); ++d) {
      const auto body = [this, total = central_[d].total[0].data()](const float* z, float* other, int64_t begin,
                                                                    int64_t end) {
        apply_differences(total, z, other, other, static_cast<float>(alpha_), static_cast<float>(mu_), begin, end);
      };
      tasks.add({"average",
                 parts[d].worker.stream,
                 {range_of<float>(memories[d].total, share), range_of<float>(memories[d].z, share)},
                 {range_of<float>(memories[d].z_next, share)},
                 averaging(d, s, body),
                 kSynchronises});
    }
  }

  // A task that computes z' of a share: body(z, previous z and z', begin, end), and counts.
  template <class Body>
  std::function<void(int64_t)> averaging(size_t d, size_t s, const Body& body) {
    return [this, d, s, body, share = share_of(learners_, s),
            threads = learners_.devices[d].synchronising[s].threads](int64_t) {
      CentralModel& c = central_[d];
      const auto now = static_cast<size_t>(c.averaged[s].value % 2);
      parallel_for(threads, share,
                   [&](int64_t begin, int64_t end) { body(c.z[now].data(), c.z[1 - now].data(), begin, end); });
      ++c.averaged[s].value;
    };
  }

  void add_update(TaskGraph& tasks, size_t d, size_t j, const Learner& learner, const LearnerMemories& memories,
                  const CentralMemories& central) {
    std::vector<MemoryRange> reads = update_reads(tasks, learners_, memories);
    reads.push_back(tasks.whole(central.z));
    tasks.add({numbered("update", j, all_.size()), learner.worker.stream, std::move(reads),
               update_writes(tasks, learners_, memories), [this, d, j, &learner](int64_t t) {
                 if (!tau_.synchronises(t)) return update_learner(learners_, learner, t, nullptr, 0);
                 const auto now = static_cast<size_t>(corrected_[j].value % 2);
                 update_learner(learners_, learner, t, central_[d].z[now].data(), alpha_);
                 ++corrected_[j].value;
               }});
  }

  const Learners& learners_;
  Collective& collective_;
  const std::vector<const Learner*> all_;
  const double alpha_;
  const double mu_;
  const TauSchedule tau_;
  std::vector<CentralModel> central_;  // of each device
  std::vector<Count> corrected_;       // corrections of each learner
  AlignedFloats statistics_;
};

}  // namespace

double alpha_bound(double mu, size_t k) { return 2 * (1 + mu) / (static_cast<double>(k) + 1 + mu); }

double sma_alpha(const SmaOptions& options, size_t k) {
  const double mu = options.central_momentum;
  if (!(mu >= 0 && mu < 1)) {
    throw Error(ErrorKind::usage, "central momentum {}: must be at least 0 and less than 1", mu);
  }
  const double learners = static_cast<double>(k);
  const double bound = alpha_bound(mu, k);
  const double alpha = options.alpha.value_or(1 / learners < bound ? 1 / learners : 0.5);
  if (!(alpha > 0 && alpha < bound)) {
    throw Error(
        ErrorKind::usage,
        "alpha {}: SMA is stable only between 0 and {:.4g} for {} learner{} and central momentum {}; leave it out "
        "for 1 / learners",
        alpha, bound, k, k == 1 ? "" : "s", mu);
  }
  return alpha;
}

std::unique_ptr<Synchroniser> make_sma(const Learners& learners, Collective& collective, const SmaOptions& options) {
  return std::make_unique<Sma>(learners, collective, options);
}

}  // namespace arbalest
