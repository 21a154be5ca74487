#include "exec/segmented_replica.h"

#include "graph/segments.h"

namespace arbalest {
namespace {

std::vector<HostTensor> outputs_of(const Replica& replica) {
  std::vector<HostTensor> values;
  for (const PlanTensor& t : replica.plan().outputs()) values.push_back(replica.read(t));
  return values;
}

void copy_feeds(Replica& from, Replica& to) {
  const std::vector<PlanTensor>&source = from.plan().feeds(), &target = to.plan().feeds();
  ensure(source.size() == target.size(), "{} feeds, expected {}", source.size(), target.size());
  for (size_t i = 0; i < source.size(); ++i) {
    require(source[i].type == target[i].type, "'{}' is {}; for the values that the data give the model takes {}",
            source[i].name, to_string(source[i].type), to_string(target[i].type));
    to.feed(target[i], from.address(source[i]));
  }
}

// In the order of the segment ends, which is that of the graph's inputs.
void feed_computed(Replica& replica, const std::vector<HostTensor>& values) {
  const std::vector<PlanTensor>& inputs = replica.plan().computed();
  ensure(inputs.size() == values.size(), "{} computed inputs, {} values", inputs.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ensure(values[i].dtype == inputs[i].type.dtype && values[i].dims == inputs[i].type.dims(),
           "{}: computed as {}, expected {}", inputs[i].name, to_string(values[i].dims), to_string(inputs[i].type));
    replica.feed(inputs[i], values[i].bytes.data());
  }
}

}  // namespace

SegmentedReplica::SegmentedReplica(std::shared_ptr<PlanFamily> plans, const ReplicaRegions& regions)
    : plans_(std::move(plans)), regions_(regions) {}

Replica& SegmentedReplica::replica(size_t run, std::shared_ptr<const Plan> plan) {
  if (replicas_.size() <= run) replicas_.resize(run + 1);
  std::unique_ptr<Replica>& entry = replicas_[run];
  if (!entry || &entry->plan() != plan.get()) {
    entry.reset();  // its arena goes before the next one comes
    entry = std::make_unique<Replica>(std::move(plan), regions_);
  }
  return *entry;
}

Replica& SegmentedReplica::set_sizes(const Bindings& sizes) {
  if (replicas_.front() && sizes == sizes_) return first();
  sizes_ = sizes;
  Replica& first = replica(0, plans_->plan(0, sizes));
  whole_ = plans_->segments() == 1 ? &first : nullptr;
  return first;
}

void SegmentedReplica::run() {
  if (plans_->segments() > 1) return run_segments();
  first().counter() = counter_;
  first().run();
}

void SegmentedReplica::run_segments() {
  whole_ = nullptr;
  std::shared_ptr<PlanFamily> plans = plans_;
  Bindings bindings = sizes_;
  std::vector<HostTensor> computed;
  size_t segment = 0;
  for (size_t run = 0;; ++run) {
    Replica& r = run == 0 ? first() : replica(run, plans->plan(segment, bindings));
    if (run > 0) copy_feeds(first(), r);
    feed_computed(r, computed);
    r.counter() = counter_;
    r.run();
    if (segment + 1 == plans->segments()) {
      whole_ = &r;
      return;
    }
    const SegmentEnd& end = plans->graph().segment_ends[segment];
    const std::vector<HostTensor> sources = outputs_of(r);
    if (end.rebuild) {
      plans = plans->rebuilt(segment, sources);  // whose graph has no such end
    } else {
      for (HostTensor& value : finish_segment(end, sources, bindings)) computed.push_back(std::move(value));
      ++segment;
    }
  }
}

Replica& SegmentedReplica::whole() {
  ensure(whole_ != nullptr, "no step has run yet");
  return *whole_;
}

}  // namespace arbalest
