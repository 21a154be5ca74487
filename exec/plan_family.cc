#include "exec/plan_family.h"

#include <algorithm>

#include "graph/segments.h"

namespace arbalest {
namespace {

// The entry that fits, moved to the front of the list; one that `make` gives where there is none. The last one goes
// when there are too many.
template <class Entry, class Fits, class Make>
Entry& recent(std::list<Entry>& entries, size_t most, const Fits& fits, const Make& make) {
  const auto known = std::find_if(entries.begin(), entries.end(), fits);
  if (known != entries.end()) {
    entries.splice(entries.begin(), entries, known);
  } else {
    entries.push_front(make());
    if (entries.size() > most) entries.pop_back();
  }
  return entries.front();
}

}  // namespace

PlanFamily::PlanFamily(Graph graph, const KernelSet& kernels, CompileOptions options)
    : graph_(std::move(graph)), kernels_(kernels), options_(std::move(options)) {}

std::shared_ptr<const Plan> PlanFamily::make(size_t index, const Bindings& bindings) {
  check_labels(graph_, bindings);
  CompileOptions options = options_;
  options.gradients = options.gradients && index + 1 == segments();
  std::shared_ptr<const Plan> plan = compile(segment(graph_, index), bindings, kernels_, options);
  options_.parameters = plan->parameters();
  options_.states = plan->states();
  ++plans_made_;
  return plan;
}

std::shared_ptr<const Plan> PlanFamily::plan(size_t index, const Bindings& bindings) {
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const Entry& e) { return e.segment == index && e.bindings == bindings; };
  return recent(entries_, kMostPlans, fits, [&] { return Entry{index, bindings, make(index, bindings)}; }).plan;
}

std::shared_ptr<PlanFamily> PlanFamily::rebuilt(size_t end, const std::vector<HostTensor>& sources) {
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const Rebuilt& r) { return r.end == end && r.sources == sources; };
  const auto make_family = [&] {
    return Rebuilt{end, sources,
                   std::make_shared<PlanFamily>(*graph_.segment_ends[end].rebuild(sources), kernels_, options_)};
  };
  return recent(rebuilt_, kMostFamilies, fits, make_family).family;
}

}  // namespace arbalest
