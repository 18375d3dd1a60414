// The tape of PyNative mode: a record per operator call, replayed backwards through the constexpr derivative rules.
#pragma once
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/eager/rule.hpp>
#include <tenon/graph/parameter.hpp>
#include <tenon/graph/post_order.hpp>

namespace tenon::inline TENON_ABI::eager {

class Tape;

/// The tape that records the operators of this thread, or null.
inline Tape*& active_tape() {
  thread_local Tape* tape = nullptr;
  return tape;
}

/// Nothing is recorded in this scope, as in torch.no_grad().
class NoGrad {
 public:
  NoGrad() : tape_(std::exchange(active_tape(), nullptr)) {}
  ~NoGrad() { active_tape() = tape_; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  Tape* tape_;
};

/// Records the operators of this thread from its construction on, until the end of its scope or pause().
///
/// Only one tape is active per thread; an inner one hides the outer one. Vectors keep their capacity over clear(), so
/// that a tape that is used for every step of a training allocates nothing after the first ones.
class Tape {
 public:
  /// An operand or result as the tape keeps it: parameters have no storage of their own.
  struct Value {
    void* data = nullptr;
    Storage storage;
    int variable = -1;
  };

  Tape() { resume(); }
  /// A tape that records only between resume() and pause().
  enum Start { paused };
  explicit Tape(Start) {}
  ~Tape() {
    pause();
    release_arenas();
  }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  static Tape*& active() { return active_tape(); }
  void resume() {
    if (active() == this) return;
    for (const Tape* on_chain = active(); on_chain; on_chain = on_chain->outer_)
      if (on_chain == this) throw RuntimeError("Tape::resume: another tape was started inside of this one and is still active: end it first.");
    outer_ = active();
    active() = this;
  }
  void pause() {
    if (active() == this) active() = std::exchange(outer_, nullptr);
  }
  /// Forgets all records. Variables that were handed out before are no longer known.
  void clear() {
    records_.clear();
    variables_.clear();
    foreign_.clear();
    hides_outer_ = false;
    for (int& v : parameter_variable_) v = -1;
    arena_ = nullptr;
    release_arenas();
    generation_ = next_generation();
  }

  /// Asks for gradients with respect to x (an input; parameters that require_grad are watched by themselves).
  template <class T, class S>
  void watch(const Tensor<T, S>& x) {
    if (x.variable.tape != generation_) x.variable = {new_variable(), generation_};
  }
  int variable(const TapeVariable& x) const {
    if (x.tape == generation_) return x.index;
    for (const Tape* outer = outer_; outer; outer = outer->outer_)
      if (x.index >= 0 && x.tape == outer->generation_) hides_outer_ = true;
    return -1;
  }
  template <class T, class S>
  int variable(const Tensor<T, S>& x) const {
    return variable(x.variable);
  }
  /// True if a value of the tape outside of this one was used here: what comes out has no gradient there.
  bool hides_outer() const { return hides_outer_; }
  /// The variable of a parameter; it is made at the first use.
  int variable(const ParameterHandle& p) {
    if (!p.requires_grad() || !p.arena || !p.arena->entries[p.entry].trainable) return -1;
    if (outer_) hides_outer_ = true;
    if (!arena_) {
      arena_ = p.arena;
      keep(p.arena);
      parameter_variable_.assign(std::size_t(arena_->entry_count), -1);
    }
    if (p.arena != arena_) return foreign_variable(p);
    int& v = parameter_variable_[std::size_t(p.entry)];
    return v < 0 ? v = new_variable() : v;
  }

  /// What a copy of a parameter carries, so that its gradient flows to the parameter.
  TapeVariable alias(const ParameterHandle& p) { return {variable(p), generation_}; }

  /// Adds a call; `result` gets its variable.
  void record(const Rule& rule, const Value* operands, Value& result, std::uint64_t immediate, long n, TapeVariable& variable) {
    result.variable = new_variable();
    variable = {result.variable, generation_};
    variables_.back().record = int(records_.size());
    Record& r = records_.emplace_back();
    r.rule = &rule;
    for (int k = 0; k < rule.operands; ++k) r.value[k] = operands[k];
    r.value[rule.operands] = result;
    r.immediate = immediate;
    r.n = n;
  }

  /// Runs the derivative rules from `loss` to everything that is watched. `seed` is the gradient of the loss. Gradients of
  /// an earlier call are forgotten.
  template <class T, class S>
  void backward(const Tensor<T, S>& loss, const Tensor<T, S>& seed) {
    const int root = variable(loss);
    if (root < 0) throw ValueError("backward: this value does not depend on a watched input or a trainable parameter, or was made before the tape was started.");
    if (!seed.storage() || seed.n() != loss.n()) throw ValueError(text("backward: the loss has a batch size of ", loss.n(), ", the gradient to start from ", seed.storage() ? text("one of ", seed.n()) : "no elements", "."));
    const NoGrad no_recording;  // derivatives of derivatives: use grad(grad(f)), which is traced
    for (Variable& v : variables_) v.gradient = Value{};
    run_backward(root, {const_cast<T*>(seed.data()), seed.storage(), -1});
  }
  template <class T, class S>
  void backward(const Tensor<T, S>& loss) {
    backward(loss, Tensor<T, S>::full(T(1), loss.n()));
  }

  /// The gradient of a watched value, zero if the loss does not depend on it.
  template <class T, class S>
  Tensor<T, S> gradient(const Tensor<T, S>& x) const {
    const int v = variable(x);
    const void* g = v < 0 ? nullptr : variables_[std::size_t(v)].gradient.data;
    if (!g) return Tensor<T, S>::full(T(0), x.n());
    Tensor<T, S> result = Tensor<T, S>::empty(x.n());  // a copy: gradients share their blocks
    std::memcpy(result.data(), g, static_cast<std::size_t>(Tensor<T, S>::dims.bytes(x.n())));
    return result;
  }
  template <class T, class S, auto Init, bool Trainable>
  Tensor<T, S> gradient(const Parameter<T, S, Init, Trainable>& p) const {
    const void* g = gradient_data(p);
    if (!g) return Tensor<T, S>::full(T(0));
    Tensor<T, S> result = Tensor<T, S>::empty();
    std::memcpy(result.data(), g, static_cast<std::size_t>(Tensor<T, S>::dims.bytes(1)));
    return result;
  }
  /// Pointer to the gradient of a parameter, null if there is none.
  void* gradient_data(const ParameterHandle& p) const { return p.arena == arena_ && arena_ ? gradient_data(p.entry) : foreign_gradient(p); }
  void* gradient_data(int entry) const {
    const int v = parameter_variable_.empty() ? -1 : parameter_variable_[std::size_t(entry)];
    return v < 0 ? nullptr : variables_[std::size_t(v)].gradient.data;
  }

 private:
  struct Record {
    const Rule* rule = nullptr;
    Value value[max_operands + 1];  // operands, result
    std::uint64_t immediate = 0;
    long n = 1;
  };
  struct Variable {
    Value gradient;
    int record = -1;
  };

  static unsigned next_generation() {
    static std::atomic<unsigned> last{0};
    return ++last;
  }
  int new_variable() {
    variables_.emplace_back();
    return int(variables_.size()) - 1;
  }
  // Parameters of a second network in one tape: searched, since this is rare.
  // Records point into the parameters' memory, which must outlive a network that dies before backward().
  void keep(ParameterArena* arena) {
    for (const ParameterArena* kept : kept_)
      if (kept == arena) return;
    arena->retain();
    kept_.push_back(arena);
  }
  void release_arenas() {
    for (ParameterArena* kept : kept_) kept->release();
    kept_.clear();
  }
  int foreign_variable(const ParameterHandle& p) {
    for (const auto& [handle, v] : foreign_)
      if (handle == p.data && v.tape == generation_) return v.index;
    const int v = new_variable();
    keep(p.arena);
    foreign_.push_back({p.data, {v, generation_}});
    return v;
  }
  void* foreign_gradient(const ParameterHandle& p) const {
    for (const auto& [handle, v] : foreign_)
      if (handle == p.data && v.tape == generation_) return variables_[std::size_t(v.index)].gradient.data;
    return nullptr;
  }

  // The record that made operand k of a record, -1 if it is no result.
  int record_before(int id, int k) const {
    const int v = records_[std::size_t(id)].value[k].variable;
    return v < 0 ? -1 : variables_[std::size_t(v)].record;
  }
  void run_backward(int root, const Value& seed) {
    variables_[std::size_t(root)].gradient = seed;
    if (variables_[std::size_t(root)].record < 0) return;
    const std::vector<int>& order = order_.from(
        variables_[std::size_t(root)].record, records_.size(), [&](int id) { return records_[std::size_t(id)].rule->operands; },
        [&](int id, int k) { return record_before(id, k); });
    for (std::size_t at = order.size(); at-- > 0;) {
      const Record& r = records_[std::size_t(order[at])];
      const Value gradient = variables_[std::size_t(r.value[r.rule->operands].variable)].gradient;
      if (gradient.data) replay(r, gradient);
    }
  }
  // Runs one derivative rule and adds its results to the gradients of the operands.
  void replay(const Record& r, const Value& gradient) {
    const Rule& rule = *r.rule;
    if (!rule.op->has_derivative) throw RuntimeError(text(rule.op->name, " has no derivative, but backward() reached it: detach its operand with stop_gradient, or declare a derivative."));
    unsigned wanted = 0;
    for (int k = 0; k < rule.operands; ++k)
      if (rule.gradient[k] >= 0 && r.value[k].variable >= 0) wanted |= 1u << k;
    values_.resize(std::size_t(rule.count));
    for (int k = 0; k <= rule.operands; ++k) values_[std::size_t(k)] = r.value[k];
    values_[std::size_t(rule.operands) + 1] = gradient;
    for (int id = rule.operands + 2; id < rule.count; ++id)
      if (rule.needed_by[id] & wanted) run_node(rule, id, r);
    for (int k = 0; k < rule.operands; ++k) {
      if (!(wanted >> k & 1)) continue;
      Value& sum = variables_[std::size_t(r.value[k].variable)].gradient;
      const Value& term = values_[std::size_t(rule.gradient[k])];
      sum = sum.data ? added(rule, k, sum, term, r.n) : term;
    }
    for (Value& v : values_) v = Value{};
  }
  void run_node(const Rule& rule, int id, const Record& r) {
    const Node& node = rule.node[id];
    Value& value = values_[std::size_t(id)];
    if (is<ops::Constant>(node)) {
      value.data = const_cast<std::uint64_t*>(&rule.constant[id]);
    } else if (node.op->view) {
      value = values_[std::size_t(node.operand[0])];
    } else {
      Arguments a;
      a.n = r.n;
      a.immediate = node.immediate == same_stream ? r.immediate : node.immediate;
      value.storage = Storage(static_cast<std::size_t>(node.type.bytes(r.n)));
      a.buffer[0] = value.data = value.storage.data();
      for (int k = 0; k < node.operands; ++k) a.buffer[k + 1] = values_[std::size_t(node.operand[k])].data;
      launch(*rule.entry[rule.kernel[id]], a);
    }
  }
  Value added(const Rule& rule, int k, const Value& sum, const Value& term, long n) {
    const int id = rule.accumulate[k];
    Value value;
    value.storage = Storage(static_cast<std::size_t>(rule.node[id].type.bytes(n)));
    value.data = value.storage.data();
    Arguments a;
    a.n = n;
    a.buffer[0] = value.data;
    a.buffer[1] = sum.data;
    a.buffer[2] = term.data;
    launch(*rule.entry[rule.kernel[id]], a);
    return value;
  }

  struct Foreign {
    const void* data;
    TapeVariable variable;
  };
  std::vector<Record> records_;
  std::vector<Variable> variables_;
  std::vector<int> parameter_variable_;
  PostOrder order_;
  std::vector<Foreign> foreign_;
  std::vector<ParameterArena*> kept_;
  std::vector<Value> values_;
  const ParameterArena* arena_ = nullptr;
  unsigned generation_ = next_generation();
  Tape* outer_ = nullptr;
  mutable bool hides_outer_ = false;
};

}  // namespace tenon::eager
