// If, Loop and Scan. Loops are unrolled; where the data tell how many trips there are, anew for each number of trips
// that comes up. Where the condition depends on the data, both branches (or all trips that
// there can be) are computed, and for each output the one that counts is chosen.
#include <algorithm>
#include <limits>

#include "graph/base/error.h"
#include "onnx_import/export_batch.h"
#include "onnx_import/host_results.h"
#include "onnx_import/known_number.h"

namespace arbalest {
namespace {

using Items = std::vector<Item>;

const std::optional<std::vector<Dim>>& contents_of(const Value& v) { return v.builder().graph().at(v.id()).contents; }

// A condition: one bool.
Value condition(const Value& v) {
  require(v.dtype() == DataType::boolean && v.shape().element_count() == Dim(1),
          "the condition is {}, expected one bool", to_string(v.type()));
  return reshape(v, {});
}

// What is known of a condition at import.
std::optional<bool> known_condition(const Value& v) {
  const auto known = known_number(v);
  return known ? std::optional(*known != 0) : std::nullopt;
}

Value logical_and(const Value& a, const Value& b) {
  return map([](const Scalar& x, const Scalar& y) { return x && y; }, a, b);
}

Value chosen(const Value& condition, const Value& a, const Value& b) {
  if (a == b) return a;
  return map([](const Scalar& c, const Scalar& x, const Scalar& y) { return select(c, x, y); }, condition, a, b);
}

std::string kind_of(const Item& item) {
  if (item.tensor) return to_string(item.tensor.type());
  return item.sequence ? fmt::format("a sequence of {}", item.sequence->size()) : "an optional without a value";
}

// One of two items by a condition that the data give; `what` names them in messages.
Item chosen(const Value& condition, const Item& a, const Item& b, const std::string& what) {
  const auto check = [&](bool fits) {
    if (fits) return;
    throw Error(ErrorKind::unsupported,
                "{} is {} or {}, depending on a condition that the data give: both are computed and one is chosen, "
                "which takes one type and shape; sizes that the condition is computed from can be fixed (--dim "
                "NAME=SIZE)",
                what, kind_of(a), kind_of(b));
  };
  if (a.absent && b.absent) return a;
  if (a.sequence && b.sequence) {
    check(a.sequence->size() == b.sequence->size());
    Values values;
    for (size_t i = 0; i < a.sequence->size(); ++i) {
      check(a.sequence->at(i).type() == b.sequence->at(i).type());
      values.push_back(chosen(condition, a.sequence->at(i), b.sequence->at(i)));
    }
    return Item::of_sequence(std::move(values));
  }
  check(a.tensor && b.tensor && a.tensor.type() == b.tensor.type());
  return chosen(condition, a.tensor, b.tensor);
}

void give_all(OpContext& op, const Items& items, size_t first = 0) {
  for (size_t i = first; i < items.size(); ++i) op.give(static_cast<int>(i - first), items[i]);
}

// If-1, 11, 13, 16, 19, ..., 25: only the branch that a known condition takes is looked at
Values if_node(OpContext& op) {
  const char* const kBranches[] = {"then_branch", "else_branch"};
  for (const char* branch : kBranches) op.ignore_attribute(branch);
  const Value given = op.input(0);
  if (const auto known = known_condition(given)) {
    give_all(op, op.subgraph(kBranches[*known ? 0 : 1], {}, {}));
    return {};
  }
  const Value holds = condition(given);
  const Value fails = map([](const Scalar& c) { return !c; }, holds);
  const Items a = op.subgraph(kBranches[0], {}, {holds, {}}), b = op.subgraph(kBranches[1], {}, {fails, {}});
  require(a.size() == b.size(), "the branches have {} and {} outputs", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    op.give(static_cast<int>(i), chosen(holds, a[i], b[i], fmt::format("output {}", i)));
  return {};
}

// ---- loops

// A state that holds the export batch where the model's batch is free: constants that are the same for each example.
Item free_state(OpContext& op, const Item& state) {
  const ExportBatch& batch = op.export_batch();
  if (!state.tensor || state.tensor.rank() < 2 || !batch.size || *batch.size < 2) return state;
  return at_batch(state.tensor, 0, Dim::symbol(batch.symbol), batch);
}

Value with_axis(const Value& v, int axis) {
  Shape shape = v.shape();
  shape.insert(shape.begin() + axis, Dim(1));
  return reshape(v, shape);
}

// One output of all trips, along a new axis.
Value stacked(const Values& trips, int64_t axis) {
  const int at = normalise_axis(axis, trips[0].rank() + 1);
  Values parts;
  for (const Value& v : trips) {
    require(v.type() == trips[0].type(), "a scan output is {} in one trip and {} in another",
            to_string(trips[0].type()), to_string(v.type()));
    parts.push_back(with_axis(v, at));
  }
  return concat(parts, at);
}

// The same of no trips; `sample` has the type that one would give.
Value empty_stack(const Value& sample, int64_t axis) {
  Shape shape = sample.shape();
  shape.insert(shape.begin() + normalise_axis(axis, sample.rank() + 1), Dim(0));
  return expand(sample.builder().scalar(0, sample.dtype()), shape);
}

const Value& tensor_of(const Item& item) {
  require(static_cast<bool>(item.tensor), "a scan output is {}, expected a tensor", kind_of(item));
  return item.tensor;
}

int64_t most_trips(OpContext& op) {
  if (!op.has_input(0)) return std::numeric_limits<int64_t>::max();
  const Value trips = op.input(0);
  require(is_integer(trips.dtype()) && trips.shape().element_count() == Dim(1),
          "the number of trips is {}, expected one integer", to_string(trips.type()));
  const auto& contents = contents_of(trips);
  if (contents && contents->front().is_constant()) return contents->front().value();
  if (contents) {
    throw Error(ErrorKind::unsupported, "the number of trips is the open size '{}'; give it a value (--dim NAME=SIZE)",
                to_string(contents->front()));
  }
  if (const auto known = known_number(trips)) return static_cast<int64_t>(*known);
  if (const TensorPtr told = op.told()) return told->to(DataType::i64).as<int64_t>()[0];
  end_segment_for(op, trips);
  return 1;  // a guess, which tells the types
}

struct LoopState {
  Items carried;  // condition, then the states
  Value running;  // where only the data tell whether this trip takes place; none: it does
};

// Whether the next trip takes place as far as is known; from then on the state says where.
bool goes_on(LoopState& loop, bool has_limit) {
  const Item& given = loop.carried[0];
  if (!given) return true;
  require(static_cast<bool>(given.tensor), "the condition is {}", kind_of(given));
  if (const auto known = known_condition(given.tensor)) return *known;
  if (!has_limit) {
    throw Error(ErrorKind::unsupported,
                "the number of trips depends on the data and has no bound; give the maximum trip count (input 0)");
  }
  const Value holds = condition(given.tensor);
  loop.running = loop.running ? logical_and(loop.running, holds) : holds;
  return true;
}

Items trip_inputs(OpContext& op, int64_t trip, const LoopState& loop) {
  Items inputs{op.builder().integers({trip}, {})};
  inputs.insert(inputs.end(), loop.carried.begin(), loop.carried.end());
  if (!inputs[1])
    inputs[1] = op.builder().constant(
        std::make_shared<HostTensor>(HostTensor::i64({}, std::vector<int64_t>{1}).to(DataType::boolean)));
  return inputs;
}

// Loop-1, 11, 13, 16, 19, ..., 25
Values loop(OpContext& op) {
  const int64_t most = most_trips(op);
  LoopState loop;
  loop.carried.push_back(op.has_input(1) ? op.item(1) : Item());
  for (int i = 2; i < op.input_count(); ++i) loop.carried.push_back(free_state(op, op.item(i)));
  const size_t states = loop.carried.size();  // with the condition
  std::vector<Values> scans;
  for (int64_t trip = 0; trip < most && goes_on(loop, most <= kMaxSteps); ++trip) {
    if (trip == kMaxSteps) throw Error(ErrorKind::unsupported, "more than {} trips, which are unrolled", kMaxSteps);
    const Items outputs = op.subgraph("body", trip_inputs(op, trip, loop), {loop.running, trip});
    require(outputs.size() >= states, "the body has {} outputs for {} states", outputs.size(), states - 1);
    scans.resize(outputs.size() - states);
    for (size_t i = 0; i < states; ++i) {
      const bool is_chosen = loop.running && i > 0;
      loop.carried[i] =
          is_chosen ? chosen(loop.running, outputs[i], loop.carried[i], fmt::format("state {}", i - 1)) : outputs[i];
    }
    for (size_t i = states; i < outputs.size(); ++i) {
      if (loop.running && op.output_used(static_cast<int>(i) - 1))
        throw Error(ErrorKind::unsupported, "scan output {} has as many entries as the data tell", i - states);
      if (!loop.running) scans[i - states].push_back(tensor_of(outputs[i]));
    }
  }
  give_all(op, loop.carried, 1);
  const int scan_outputs = op.output_count() - static_cast<int>(states) + 1;
  if (scan_outputs > 0 && scans.empty()) {  // no trip: one that nothing reads tells the types
    const Items outputs = op.subgraph("body", trip_inputs(op, 0, loop), {{}, 0});
    for (size_t i = states; i < outputs.size(); ++i)
      op.give(static_cast<int>(i) - 1, empty_stack(tensor_of(outputs[i]), 0));
  }
  for (size_t i = 0; i < scans.size(); ++i) {
    if (!scans[i].empty()) op.give(static_cast<int>(states + i) - 1, stacked(scans[i], 0));
  }
  op.ignore_attribute("body");
  return {};
}

// ---- Scan

struct ScanPlan {
  int64_t steps = 0;
  size_t states = 0;
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
};

// Entry i of a list that may be left out.
int64_t entry(const std::vector<int64_t>& list, size_t i) { return i < list.size() ? list[i] : 0; }

// Steps of a scan along the axis of each scan input.
int64_t steps_of(const Values& inputs, const std::vector<int64_t>& axes) {
  Dim steps = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Dim& size = inputs[i].shape()[static_cast<size_t>(normalise_axis(entry(axes, i), inputs[i].rank()))];
    require(i == 0 || size == steps, "the scan inputs have {} and {} steps", to_string(steps), to_string(size));
    steps = size;
  }
  return unrolled_steps(steps);
}

Value step_of(const Value& v, int64_t axis, int64_t step) {
  const int at = normalise_axis(axis, v.rank());
  Shape shape = v.shape();
  shape.erase(shape.begin() + at);
  return reshape(slice(v, at, step, 1), shape);
}

// Runs the body over the first `active` steps; returns the final states and the stacked outputs, which zeros fill up to
// all steps.
Items scan_steps(OpContext& op, const ScanPlan& plan, Items states, const Values& inputs, int64_t active) {
  std::vector<Values> outputs;
  const auto run = [&](int64_t k) {
    Items all = states;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t step = entry(plan.input_directions, i) != 0 ? active - 1 - k : k;
      all.push_back(step_of(inputs[i], entry(plan.input_axes, i), step));
    }
    return all;
  };
  for (int64_t k = 0; k < active; ++k) {
    const Items results = op.subgraph("body", run(k), {{}, k});
    require(results.size() >= states.size(), "the body has {} outputs for {} states", results.size(), states.size());
    outputs.resize(results.size() - states.size());
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].push_back(tensor_of(results[states.size() + i]));
    std::copy_n(results.begin(), states.size(), states.begin());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (int64_t k = active; k < plan.steps; ++k)
      outputs[i].push_back(expand(op.builder().scalar(0, outputs[i][0].dtype()), outputs[i][0].shape()));
    if (entry(plan.output_directions, i) != 0) std::reverse(outputs[i].begin(), outputs[i].begin() + active);
    states.push_back(stacked(outputs[i], entry(plan.output_axes, i)));
  }
  return states;
}

// Inputs from `first` on: the states, then the scan inputs.
Values scan_inputs(OpContext& op, int first, ScanPlan& plan, Items& states) {
  const int64_t count = op.required_integer("num_scan_inputs");
  require(count >= 1 && count <= op.input_count() - first, "attribute 'num_scan_inputs' is {} for {} inputs", count,
          op.input_count() - first);
  Values inputs;
  for (int i = first; i < op.input_count(); ++i) {
    if (i < op.input_count() - count) {
      states.push_back(op.item(i));
    } else {
      inputs.push_back(op.input(i));
    }
  }
  plan.states = states.size();
  return inputs;
}

// Scan-9, 11, 16, 19, ..., 25
Values scan(OpContext& op) {
  ScanPlan plan;
  Items states;
  const Values inputs = scan_inputs(op, 0, plan, states);
  for (Item& state : states) state = free_state(op, state);
  const std::vector<int64_t> none;
  plan.input_axes = op.attribute("scan_input_axes", none);
  plan.input_directions = op.attribute("scan_input_directions", none);
  plan.output_axes = op.attribute("scan_output_axes", none);
  plan.output_directions = op.attribute("scan_output_directions", none);
  plan.steps = steps_of(inputs, plan.input_axes);
  require(plan.steps > 0, "a scan of no steps");
  give_all(op, scan_steps(op, plan, states, inputs, plan.steps));
  return {};
}

// Scan-8: of each example of a batch (axis 0) on its own, along axis 1, for as many steps as its length says
Values scan_examples(OpContext& op) {
  ScanPlan plan;
  Items states;
  const Values inputs = scan_inputs(op, 1, plan, states);
  plan.input_directions = op.attribute("directions", std::vector<int64_t>{});
  plan.steps = steps_of(inputs, std::vector<int64_t>(inputs.size(), 1));
  const Dim& batch = inputs[0].shape()[0];
  if (!batch.is_constant())
    throw Error(ErrorKind::unsupported,
                "version 8 of the operator runs over each example of a batch of the open size "
                "'{}'",
                to_string(batch));
  require(plan.steps > 0 && batch.value() > 0, "a scan of no steps");
  require(batch.value() <= kMaxSteps, "{} examples, at most {} can be unrolled", batch.value(), kMaxSteps);
  const auto lengths =
      op.has_input(0) ? op.constant_integers(0) : std::vector<int64_t>(static_cast<size_t>(batch.value()), plan.steps);
  require(std::ssize(lengths) == batch.value(), "{} lengths for {} examples", lengths.size(), batch.value());
  std::vector<Values> results;
  for (int64_t example = 0; example < batch.value(); ++example) {
    const int64_t length = lengths[static_cast<size_t>(example)];
    require(length >= 1 && length <= plan.steps, "a length of {} of {} steps", length, plan.steps);
    Items own_states;
    for (const Item& s : states) own_states.push_back(step_of(tensor_of(s), 0, example));
    Values own_inputs;
    for (const Value& v : inputs) own_inputs.push_back(step_of(v, 0, example));
    const Items outputs = scan_steps(op, plan, own_states, own_inputs, length);
    results.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) results[i].push_back(tensor_of(outputs[i]));
  }
  for (size_t i = 0; i < results.size(); ++i) op.give(static_cast<int>(i), stacked(results[i], 0));
  return {};
}

Values scan_node(OpContext& op) { return op.version() < 9 ? scan_examples(op) : scan(op); }

}  // namespace

void register_control(Translator& t);
void register_control(Translator& t) {
  t.add("If", {1, 11, 13, 16, 19, 21, 23, 24, 25}, if_node);
  t.add("Loop", {1, 11, 13, 16, 19, 21, 23, 24, 25}, loop);
  t.add("Scan", {8, 9, 11, 16, 19, 21, 23, 24, 25}, scan_node);
}

}  // namespace arbalest
