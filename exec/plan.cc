#include "exec/plan.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace arbalest {
namespace {

constexpr int kEnd = std::numeric_limits<int>::max();  // "needed until the end", as a node index

std::string layouts_text(const std::vector<Layout>& inputs, const std::vector<Layout>& outputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) text += (i ? ", " : "") + inputs[i].text();
  text += " -> ";
  for (size_t i = 0; i < outputs.size(); ++i) text += (i ? ", " : "") + outputs[i].text();
  return text;
}

}  // namespace

class PlacementContext;

class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const KernelSet& kernels, const PlanOptions& options)
      : graph_(graph), kernels_(kernels), options_(options), plan_(std::make_shared<Plan>()) {}

  std::shared_ptr<const Plan> build();

 private:
  friend class PlacementContext;

  // A piece of memory. Several values may share one (views, work in place).
  struct Buffer {
    Region region = Region::arena;
    size_t offset = 0;  // known at once for all but the arena
    size_t bytes = 0;
    int first = kEnd;  // steps that touch it (arena)
    int last = -1;
    int needed_until = -1;  // the last node that reads a value in it
    bool overwritable = true;
  };

  // A value in one layout.
  struct Copy {
    Layout layout;
    int buffer = -1;
  };

  void find_uses();
  void place_inputs();
  void place_node(size_t node);
  void choose_overwrites(const Node& node, PlacementContext& context, const std::vector<int>& inputs);
  void place_gradients();
  void place_outputs();
  void place_updates();
  void lay_out_memory();

  int new_buffer(Region region, size_t bytes, size_t offset = 0);
  int new_constant(const void* data, size_t bytes);
  // The buffer that holds `value` in `layout`; adds a reorder step where none does.
  int in_layout(ValueId value, const Layout& layout);
  void fix_parameter(ValueId value, const Layout& layout);
  int convert_constant(const Copy& from, const Layout& to, DataType type);
  void add_copy_step(const Copy& from, const Copy& to, DataType type, const std::string& origin);
  void add_step(PlanStep step, const std::vector<int>& inputs, const std::vector<int>& outputs);
  Copy& primary(ValueId v) { return copies_[v.at()].front(); }

  const Graph& graph_;
  const KernelSet& kernels_;
  const PlanOptions& options_;
  std::shared_ptr<Plan> plan_;
  std::vector<Buffer> buffers_;
  std::vector<std::vector<Copy>> copies_;       // by value; the first is the one that its producer wrote
  std::vector<int> last_use_;                   // by value: last node that reads it, kEnd for roots
  std::vector<bool> free_parameter_;            // by value
  std::vector<const GraphInput*> input_of_;     // by value; null: a node computes it
  std::vector<ValueId> gradient_of_;            // by value: the parameter whose gradient it is
  std::vector<ValueId> update_of_;              // by value: the state that takes it
  std::vector<std::vector<int>> step_buffers_;  // by step: inputs, outputs, scratch (or -1)
  std::shared_ptr<ParameterLayout> new_parameters_;
  std::shared_ptr<ParameterLayout> new_states_;
  AlignedBytes constants_;
  int current_node_ = 0;
};

// What a kernel sees of a node while it is placed.
class PlacementContext final : public PrepareContext {
 public:
  PlacementContext(PlanBuilder& builder, const Node& node) : builder_(builder), node_(node) {
    const size_t n = node.inputs.size();
    for (size_t i = 0; i < n; ++i) inputs_.push_back(builder.primary(node.inputs[i]));
    for (ValueId v : node.outputs) outputs_.push_back(Layout::row_major(type(v).dims()));
    alias_.assign(node.outputs.size(), -1);
    overwrite_.assign(node.outputs.size(), -1);
  }

  int threads() const override { return builder_.options_.threads; }
  bool training() const override { return !builder_.graph_.gradients.empty(); }
  int input_count() const override { return static_cast<int>(node_.inputs.size()); }
  int output_count() const override { return static_cast<int>(node_.outputs.size()); }
  const TensorType& input_type(int i) const override { return type(node_.inputs.at(i)); }
  const TensorType& output_type(int i) const override { return type(node_.outputs.at(i)); }
  bool output_used(int i) const override { return builder_.last_use_[node_.outputs.at(i).at()] >= 0; }
  const Layout& input_layout(int i) const override { return inputs_.at(i).layout; }
  bool is_free_parameter(int i) const override { return builder_.free_parameter_[node_.inputs.at(i).at()]; }
  void require_input(int i, const Layout& layout) override {
    const ValueId v = node_.inputs.at(i);
    if (builder_.free_parameter_[v.at()]) builder_.fix_parameter(v, layout);
    inputs_[i] = {layout, builder_.in_layout(v, layout)};
  }
  std::optional<Layout> wanted_output(int i) const override {
    const ValueId parameter = builder_.gradient_of_[node_.outputs.at(i).at()];
    if (!parameter || builder_.free_parameter_[parameter.at()]) return std::nullopt;
    return builder_.primary(parameter).layout;
  }
  void set_output(int i, const Layout& layout) override { outputs_.at(i) = layout; }
  void alias(int output, int input) override { alias_.at(output) = input; }
  void may_overwrite(int output, int input) override { candidates_.push_back({output, input}); }

  std::vector<PlanBuilder::Copy> inputs_;
  std::vector<Layout> outputs_;
  std::vector<int> alias_;      // by output: the input whose memory it is
  std::vector<int> overwrite_;  // by output: the input whose memory it takes over
  std::vector<std::pair<int, int>> candidates_;

 private:
  const TensorType& type(ValueId v) const { return builder_.graph_.at(v).type; }

  PlanBuilder& builder_;
  const Node& node_;
};

int PlanBuilder::new_buffer(Region region, size_t bytes, size_t offset) {
  Buffer b;
  b.region = region;
  b.bytes = bytes;
  b.offset = offset;
  b.overwritable = region == Region::arena;
  buffers_.push_back(b);
  return static_cast<int>(buffers_.size()) - 1;
}

int PlanBuilder::new_constant(const void* data, size_t bytes) {
  const size_t offset = constants_.size();
  constants_.resize(offset + aligned_bytes(bytes));
  if (bytes) std::memcpy(constants_.data() + offset, data, bytes);
  return new_buffer(Region::constants, bytes, offset);
}

int PlanBuilder::convert_constant(const Copy& from, const Layout& to, DataType type) {
  const Prepared prepared = kernels_.reorder(from.layout, to, type, 1);
  AlignedBytes scratch(prepared.scratch_bytes), result(to.bytes(type));
  void* inputs[] = {constants_.data() + buffers_[from.buffer].offset};
  void* outputs[] = {result.data()};
  prepared.bind({inputs, outputs, scratch.data(), nullptr})();
  return new_constant(result.data(), result.size());
}

void PlanBuilder::fix_parameter(ValueId value, const Layout& layout) {
  free_parameter_[value.at()] = false;
  const GraphInput* input = input_of_[value.at()];
  const DataType type = graph_.at(value).type.dtype;
  ParameterLayout& slots = input->role == InputRole::parameter ? *new_parameters_ : *new_states_;
  const Region region = input->role == InputRole::parameter ? Region::parameters : Region::states;
  const size_t offset = slots.add(input->name, type, layout);
  copies_[value.at()] = {{layout, new_buffer(region, layout.bytes(type), offset)}};
}

int PlanBuilder::in_layout(ValueId value, const Layout& layout) {
  std::vector<Copy>& copies = copies_[value.at()];
  for (const Copy& c : copies)
    if (c.layout == layout) return c.buffer;
  const DataType type = graph_.at(value).type.dtype;
  const Copy from = copies.front();
  Copy to{layout, -1};
  if (buffers_[from.buffer].region == Region::constants) {
    to.buffer = convert_constant(from, layout, type);
  } else {
    to.buffer = new_buffer(Region::arena, layout.bytes(type));
    buffers_[to.buffer].needed_until = last_use_[value.at()];
    const Node* producer = graph_.producer(value);
    add_copy_step(from, to, type, producer ? producer->origin : graph_.at(value).name);
  }
  copies_[value.at()].push_back(to);
  return to.buffer;
}

void PlanBuilder::add_copy_step(const Copy& from, const Copy& to, DataType type, const std::string& origin) {
  PlanStep step;
  step.kernel = kernels_.reorder(from.layout, to.layout, type, options_.threads);
  step.name = from.layout == to.layout ? "Copy" : "Reorder";
  step.origin = origin;
  step.layouts = layouts_text({from.layout}, {to.layout});
  add_step(std::move(step), {from.buffer}, {to.buffer});
}

void PlanBuilder::add_step(PlanStep step, const std::vector<int>& inputs, const std::vector<int>& outputs) {
  const int index = static_cast<int>(plan_->steps_.size());
  std::vector<int> touched = inputs;
  touched.insert(touched.end(), outputs.begin(), outputs.end());
  touched.push_back(step.kernel.scratch_bytes ? new_buffer(Region::arena, step.kernel.scratch_bytes) : -1);
  for (int b : touched) {
    if (b < 0) continue;
    buffers_[b].first = std::min(buffers_[b].first, index);
    buffers_[b].last = std::max(buffers_[b].last, index);
  }
  step.inputs.resize(inputs.size());
  step.outputs.resize(outputs.size());
  step_buffers_.push_back(std::move(touched));
  plan_->steps_.push_back(std::move(step));
}

void PlanBuilder::find_uses() {
  last_use_.assign(graph_.values.size(), -1);
  for (size_t n = 0; n < graph_.nodes.size(); ++n)
    for (ValueId v : graph_.nodes[n].inputs) last_use_[v.at()] = static_cast<int>(n);
  for (ValueId v : graph_.roots()) last_use_[v.at()] = kEnd;
  gradient_of_.assign(graph_.values.size(), {});
  for (const ParameterGradient& g : graph_.gradients)
    if (g.gradient) gradient_of_[g.gradient.at()] = g.parameter;
  update_of_.assign(graph_.values.size(), {});
  for (const StateUpdate& u : graph_.updates) update_of_[u.next.at()] = u.state;
}

void PlanBuilder::place_inputs() {
  copies_.resize(graph_.values.size());
  free_parameter_.assign(graph_.values.size(), false);
  input_of_.assign(graph_.values.size(), nullptr);
  for (const GraphInput& input : graph_.inputs) input_of_[input.value.at()] = &input;
  if (!options_.parameters) new_parameters_ = std::make_shared<ParameterLayout>();
  if (!options_.states) new_states_ = std::make_shared<ParameterLayout>();
  for (const GraphInput& input : graph_.inputs) {
    const TensorType& type = graph_.at(input.value).type;
    const Layout dense = Layout::row_major(type.dims());
    const bool parameter = input.role == InputRole::parameter;
    if (!parameter && input.role != InputRole::state) {
      const int buffer = new_buffer(Region::arena, type.bytes());
      // A feed is written before the first step, and stays as its owner wrote it, also for the next run.
      buffers_[buffer].first = 0;
      buffers_[buffer].last = kEnd;
      buffers_[buffer].needed_until = kEnd;
      buffers_[buffer].overwritable = false;
      copies_[input.value.at()] = {{dense, buffer}};
      continue;
    }
    const ParameterLayout* given = parameter ? options_.parameters.get() : options_.states.get();
    if (!given) {
      free_parameter_[input.value.at()] = true;
      copies_[input.value.at()] = {{dense, -1}};
      continue;
    }
    const ParameterSlot* slot = given->find(input.name);
    ensure(slot && slot->layout.dims == dense.dims, "parameter {} has no slot in the given layout", input.name);
    const Region region = parameter ? Region::parameters : Region::states;
    copies_[input.value.at()] = {{slot->layout, new_buffer(region, slot->bytes(), slot->offset)}};
  }
}

// An output may take over the memory of an input that nobody reads later, if every other use of that memory in this
// node also reads element k for element k.
void PlanBuilder::choose_overwrites(const Node& node, PlacementContext& context, const std::vector<int>& inputs) {
  std::vector<int> taken;
  for (const auto& candidate : context.candidates_) {
    const int o = candidate.first, i = candidate.second, buffer = inputs[i];
    const Buffer& b = buffers_[buffer];
    const ValueId state = update_of_[node.outputs[o].at()];
    const bool in_state = state && state == node.inputs[i] && last_use_[state.at()] <= current_node_;
    const bool dies = b.overwritable && b.needed_until <= current_node_;
    bool fits = b.bytes == context.outputs_[o].bytes(context.output_type(o).dtype) && (in_state || dies);
    for (size_t j = 0; j < inputs.size(); ++j)
      if (inputs[j] == buffer)
        fits &=
            std::count(context.candidates_.begin(), context.candidates_.end(), std::pair(o, static_cast<int>(j))) > 0;
    if (!fits || context.overwrite_[o] >= 0 || std::count(taken.begin(), taken.end(), buffer)) continue;
    context.overwrite_[o] = i;
    taken.push_back(buffer);
  }
}

void PlanBuilder::place_node(size_t index) {
  const Node& node = graph_.nodes[index];
  current_node_ = static_cast<int>(index);
  if (const auto* constant = std::get_if<Constant>(&node.primitive)) {
    const HostTensor& value = *constant->value;
    copies_[node.outputs[0].at()] = {
        {Layout::row_major(value.dims), new_constant(value.bytes.data(), value.bytes.size())}};
    return;
  }
  PlacementContext context(*this, node);
  PlanStep step;
  step.kernel = kernels_.prepare(node.primitive, context);
  for (int i = 0; i < context.input_count(); ++i)  // parameters nobody asked a layout of live row-major
    if (context.is_free_parameter(i)) context.require_row_major(i);

  std::vector<int> inputs, outputs;
  std::vector<Layout> input_layouts;
  for (const Copy& c : context.inputs_) {
    inputs.push_back(c.buffer);
    input_layouts.push_back(c.layout);
  }
  choose_overwrites(node, context, inputs);
  bool work = false;
  for (int o = 0; o < context.output_count(); ++o) {
    const ValueId v = node.outputs[o];
    const int shared = context.alias_[o] >= 0 ? context.alias_[o] : context.overwrite_[o];
    int buffer = shared >= 0 ? inputs[shared] : -1;
    if (buffer < 0) buffer = new_buffer(Region::arena, context.outputs_[o].bytes(context.output_type(o).dtype));
    work |= context.alias_[o] < 0;
    buffers_[buffer].needed_until = std::max(buffers_[buffer].needed_until, last_use_[v.at()]);
    copies_[v.at()] = {{context.outputs_[o], buffer}};
    outputs.push_back(buffer);
  }
  if (!work) return;  // all outputs are views
  step.name = name_of(node.primitive);
  step.origin = node.origin;
  step.layouts = layouts_text(input_layouts, context.outputs_);
  add_step(std::move(step), inputs, outputs);
}

// A gradient's buffer becomes its slot in the gradient region where nothing else speaks against it, else it is copied.
void PlanBuilder::place_gradients() {
  for (const ParameterGradient& g : graph_.gradients) {
    if (free_parameter_[g.parameter.at()]) fix_parameter(g.parameter, primary(g.parameter).layout);
    if (!g.gradient) continue;
    const Copy parameter = primary(g.parameter);
    const size_t offset = buffers_[parameter.buffer].offset;
    const Copy& value = primary(g.gradient);
    Buffer& b = buffers_[value.buffer];
    const size_t bytes = parameter.layout.bytes(graph_.at(g.parameter).type.dtype);
    if (b.region == Region::arena && b.overwritable && b.bytes == bytes && value.layout == parameter.layout) {
      b.region = Region::gradients;
      b.offset = offset;
      b.overwritable = false;
    } else if (b.region != Region::gradients || b.offset != offset) {
      const Copy slot{parameter.layout, new_buffer(Region::gradients, bytes, offset)};
      add_copy_step(value, slot, graph_.at(g.gradient).type.dtype, graph_.at(g.parameter).name);
    }
  }
}

void PlanBuilder::place_updates() {
  for (const StateUpdate& u : graph_.updates) {
    if (free_parameter_[u.state.at()]) fix_parameter(u.state, primary(u.state).layout);
    const Copy state = primary(u.state), next = primary(u.next);
    if (state.buffer != next.buffer) add_copy_step(next, state, graph_.at(u.state).type.dtype, graph_.at(u.state).name);
  }
}

void PlanBuilder::place_outputs() {
  const auto add = [&](const std::string& name, ValueId v) {
    const TensorType& type = graph_.at(v).type;
    if (free_parameter_[v.at()]) fix_parameter(v, primary(v).layout);
    const int buffer = in_layout(v, Layout::row_major(type.dims()));
    buffers_[buffer].last = kEnd;
    return PlanTensor{name,
                      type,
                      type.bytes(),
                      {buffers_[buffer].region, static_cast<size_t>(buffer)},
                      false};  // the offset comes later
  };
  for (const GraphOutput& o : graph_.outputs) plan_->outputs_.push_back(add(o.name, o.value));
  if (graph_.loss) plan_->loss_ = add("loss", graph_.loss);
  if (graph_.correct) plan_->correct_ = add("correct", graph_.correct);
}

void PlanBuilder::lay_out_memory() {
  const int end = std::max(1, static_cast<int>(plan_->steps_.size()));
  std::vector<int> index(buffers_.size(), -1);
  for (size_t b = 0; b < buffers_.size(); ++b) {
    const Buffer& buffer = buffers_[b];
    if (buffer.region != Region::arena || buffer.last < 0) continue;
    index[b] = static_cast<int>(plan_->lifetimes_.size());
    plan_->lifetimes_.push_back({buffer.bytes, buffer.first == kEnd ? 0 : buffer.first, std::min(buffer.last, end), 0});
  }
  plan_->memory_ = plan_memory(plan_->lifetimes_);
  plan_->arena_bytes_ = plan_->memory_.bytes;
  for (size_t b = 0; b < buffers_.size(); ++b)
    if (index[b] >= 0) buffers_[b].offset = plan_->memory_.offsets[index[b]];

  const auto place = [&](int b) { return b < 0 ? Place{} : Place{buffers_[b].region, buffers_[b].offset}; };
  for (size_t s = 0; s < plan_->steps_.size(); ++s) {
    PlanStep& step = plan_->steps_[s];
    const std::vector<int>& touched = step_buffers_[s];
    size_t k = 0;
    for (Place& p : step.inputs) p = place(touched[k++]);
    for (Place& p : step.outputs) p = place(touched[k++]);
    step.scratch = place(touched[k]);
  }
  for (PlanTensor& t : plan_->outputs_) t.place = place(static_cast<int>(t.place.offset));
  if (plan_->loss_) plan_->loss_->place = place(static_cast<int>(plan_->loss_->place.offset));
  if (plan_->correct_) plan_->correct_->place = place(static_cast<int>(plan_->correct_->place.offset));
  for (const GraphInput& input : graph_.inputs) {
    if (input.role == InputRole::parameter || input.role == InputRole::state) continue;
    const TensorType& type = graph_.at(input.value).type;
    auto& list = input.role == InputRole::computed ? plan_->computed_ : plan_->feeds_;
    list.push_back(
        {input.name, type, type.bytes(), place(primary(input.value).buffer), input.role == InputRole::label});
  }
}

std::shared_ptr<const Plan> PlanBuilder::build() {
  plan_->threads_ = options_.threads;
  find_uses();
  place_inputs();
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    try {
      place_node(n);
    } catch (const Error& e) {
      throw e.within(graph_.nodes[n].origin);
    }
  }
  for (const GraphInput& input : graph_.inputs)  // parameters that no step reads have a slot all the same
    if (free_parameter_[input.value.at()]) fix_parameter(input.value, primary(input.value).layout);
  place_gradients();
  place_outputs();
  place_updates();
  lay_out_memory();
  plan_->parameters_ = options_.parameters ? options_.parameters : new_parameters_;
  plan_->states_ = options_.states ? options_.states : new_states_;
  plan_->constants_ = std::move(constants_);
  return plan_;
}

std::shared_ptr<const Plan> make_plan(const Graph& graph, const KernelSet& kernels, const PlanOptions& options) {
  return PlanBuilder(graph, kernels, options).build();
}

namespace {

const PlanTensor* find_named(const std::vector<PlanTensor>& tensors, const std::string& name) {
  for (const PlanTensor& t : tensors)
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace

const PlanTensor* Plan::find_feed(const std::string& name) const { return find_named(feeds_, name); }
const PlanTensor* Plan::label() const {
  for (const PlanTensor& feed : feeds_)
    if (feed.label) return &feed;
  return nullptr;
}
const PlanTensor* Plan::find_output(const std::string& name) const { return find_named(outputs_, name); }

double Plan::flops() const {
  double sum = 0;
  for (const PlanStep& s : steps_) sum += s.kernel.flops;
  return sum;
}

std::string to_text(const Plan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.steps().size(); ++i) {
    const PlanStep& s = plan.steps()[i];
    text += fmt::format("{:4} {:20} {:28} {:24} {}\n", i, s.name, s.origin, s.kernel.implementation, s.layouts);
  }
  return text + fmt::format("arena {} bytes, parameters {} bytes, states {} bytes, constants {} bytes\n",
                            plan.arena_bytes(), plan.parameters()->bytes(), plan.states()->bytes(),
                            plan.constant_bytes());
}

}  // namespace arbalest
