// The tape of PyNative mode: a record per operator call, replayed backwards through the constexpr derivative rules.
#pragma once
#include <vector>

#include <tenon/core/thread/atomic.hpp>
#include <tenon/graph/ir/parameter.hpp>
#include <tenon/graph/plan/memory_owners.hpp>
#include <tenon/run/layout.hpp>
#include <tenon/run/no_grad.hpp>
#include <tenon/run/tape_memory.hpp>

namespace tenon::inline TENON_ABI::eager {

/// Records the operators of this thread from its construction on, until the end of its scope or pause().
///
/// Only one tape is active per thread; an inner one hides the outer one. Its vectors keep their capacity over clear()
/// and go to the thread's next tape, so that nothing is allocated after the first steps of a training.
class Tape {
 public:
  using Value = TapeMemory::Value;

  Tape() { resume(); }
  /// A tape that records only between resume() and pause().
  enum Start { paused };
  explicit Tape(Start) {}
  ~Tape() {
    pause();
    release_arenas();
    TapeMemory::give_back(std::move(memory_));
  }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  static Tape*& active() { return active_tape(); }
  void resume();
  void pause() {
    if (active() == this) active() = std::exchange(outer_, nullptr);
  }
  /// Forgets all records. Variables that were handed out before are no longer known.
  void clear();

  /// Asks for gradients with respect to x (an input; parameters that require_grad are watched by themselves).
  template <class T, class S>
  void watch(const Tensor<T, S>& x) {
    if (x.variable.tape != generation_ || x.variable.index < 0) x.variable = {new_variable(), generation_};
  }
  int variable(const TapeVariable& x) const {
    if (x.tape == generation_) return x.index == TapeVariable::lost ? refuse_part() : x.index;
    for (const Tape* outer = outer_; outer; outer = outer->outer_)
      if (x.index != TapeVariable::none && x.tape == outer->generation_) hides_outer_ = true;
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
    if (!p.requires_grad() || !p.arena || !p.trainable()) return -1;
    if (outer_) hides_outer_ = true;
    if (!arena_) {
      arena_ = p.arena;
      keep(p.arena);
      memory_->parameter_variable.assign(std::size_t(arena_->entry_count), -1);
    }
    if (p.arena != arena_) return foreign_variable(p);
    int& v = memory_->parameter_variable[std::size_t(p.entry)];
    return v < 0 ? v = new_variable() : v;
  }

  /// What a copy of a parameter carries, so that its gradient flows to the parameter.
  TapeVariable alias(const ParameterHandle& p) { return {variable(p), generation_}; }

  /// Adds a call and gives its result a variable, of several the first. Returns where the operands and the results are
  /// to be kept: the variable of each, the elements of those that rule.keeps names.
  Value* record(const Rule& rule, std::uint64_t immediate, long n, TapeVariable& variable);
  /// Gives a further result of the last call that was recorded a variable.
  void add_result(Value& value, TapeVariable& variable) {
    variable = {new_variable(), generation_};
    memory_->variables.back().record = int(memory_->records.size()) - 1;
    value.variable = variable.index;
  }

  /// Runs the derivative rules from `loss` to everything that is watched. `seed` is the gradient of the loss. Gradients
  /// of an earlier call are forgotten. A loss that depends on nothing that is watched makes all gradients zero, as in a
  /// graph. Throws ValueError for a value of another tape.
  template <class T, class S>
  void backward(const Tensor<T, S>& loss, Tensor<T, S> seed) {
    const int root = variable(loss);
    if (root < 0 && loss.variable.index >= 0)
      throw_error<ValueError>("backward: this value was computed on another tape, or before clear(): call backward on "
                              "the tape that recorded it.");
    if (!seed.storage() || seed.n() != loss.n())
      throw_error<ValueError>("backward: the loss has a batch size of ", loss.n(), ", the gradient to start from ",
                              seed.storage() ? text("one of ", seed.n()) : "no elements", ".");
    const FlushDenormals flush;
    const NoGrad no_recording;  // derivatives of derivatives: use grad(grad(f)), which is traced
    for (Variable& v : memory_->variables) v.gradient = Value{};
    T* const first = seed.data();  // as rows
    if (root >= 0) run_backward(root, {first, std::move(seed.storage()), -1});
  }
  template <class T, class S>
  void backward(const Tensor<T, S>& loss) {
    backward(loss, Tensor<T, S>::full(T(1), loss.n()));
  }

  /// The gradient of a watched value, zero if the loss does not depend on it.
  template <class T, class S>
  Tensor<T, S> gradient(const Tensor<T, S>& x) const {
    const int v = variable(x);
    const Value none, &g = v < 0 ? none : memory_->variables[std::size_t(v)].gradient;
    if (!g.data) return Tensor<T, S>::full(T(0), x.n());
    if (g.storage.made_in_nchw16n()) return Tensor<T, S>(g.storage, x.n()).copy();
    Tensor<T, S> result = Tensor<T, S>::empty(x.n());  // a copy: gradients share their blocks
    std::memcpy(result.data(), tenon::detail::home(g.data), static_cast<std::size_t>(Tensor<T, S>::dims.bytes(x.n())));
    return result;
  }
  template <class T, class S, auto Init, bool Trainable>
  Tensor<T, S> gradient(const Parameter<T, S, Init, Trainable>& p) const {
    const void* g = gradient_data(p);
    if (!g) return Tensor<T, S>::full(T(0));
    Tensor<T, S> result = Tensor<T, S>::empty();
    std::memcpy(result.data(), tenon::detail::home(g), static_cast<std::size_t>(Tensor<T, S>::dims.bytes(1)));
    return result;
  }
  /// Address of the gradient of a parameter for kernels, null if there is none; detail::home() of it is for the host.
  void* gradient_data(const ParameterHandle& p) const;
  void* gradient_data(int entry) const;
  /// Adds the tensors that the records keep for their derivatives.
  [[gnu::cold]] void add_owners(tenon::detail::MemoryOwners& owners) const;

 private:
  friend class Recomputation;
  using Record = TapeMemory::Record;
  using Variable = TapeMemory::Variable;

  static unsigned next_generation();
  int new_variable() {
    memory_->variables.push_back({});
    return int(memory_->variables.size()) - 1;
  }
  // Records point into the parameters' memory, which must outlive a network that dies before backward().
  void keep(ParameterArena* arena);
  void release_arenas();
  // Parameters of a second network in one tape: searched, since this is rare.
  int foreign_variable(const ParameterHandle& p);
  [[noreturn, gnu::cold]] static int refuse_part();
  void* foreign_gradient(const ParameterHandle& p) const;

  // Operands and results of a record.
  const Value* values_of(const Record& r) const { return &memory_->recorded[r.first]; }
  // The record that made operand k of a record, -1 if it is no result.
  int record_before(int id, int k) const {
    const int v = values_of(memory_->records[std::size_t(id)])[k].variable;
    return v < 0 ? -1 : memory_->variables[std::size_t(v)].record;
  }
  // The results of a record that have a gradient, as bits.
  unsigned with_gradient(const Record& r) const {
    const Value* const result = values_of(r) + r.rule->operands;
    if (r.rule->results == 1) [[likely]]
      return memory_->variables[std::size_t(result->variable)].gradient.data != nullptr;
    unsigned with = 0;
    for (int k = 0; k < r.rule->results; ++k)
      if (const int v = result[k].variable; v >= 0)
        with |= unsigned(memory_->variables[std::size_t(v)].gradient.data != nullptr) << k;
    return with;
  }
  const Value& gradient_of(const Value& result) const {
    return memory_->variables[std::size_t(result.variable)].gradient;
  }
  void run_backward(int root, Value seed);
  [[noreturn, gnu::cold]] void refuse_gradient(const OutOfMemory& error, const Record& r) const;
  [[noreturn, gnu::cold]] static void refuse_forgotten(const Record& r, unsigned operands);
  // Runs one derivative rule, for the results with a gradient, and adds what it makes to the gradients of the operands.
  void replay(const Record& r, unsigned with);
  template <class At>
  static void run_node(const Rule& rule, int id, const Record& r, const At& at, Value& value) {
    const Node& node = rule.node[id];
    if (node.op->part) return;  // the call has written it
    if (is<ops::Constant>(node)) {
      value.data = const_cast<std::uint64_t*>(&rule.constant[id]);
    } else {
      const Value* operand[max_operands];
      for (int k = 0; k < node.operands; ++k) operand[k] = &at(node.operand[k]);
      const std::uint64_t immediate = node.same_stream ? r.immediate : node.immediate;
      if constexpr (observable)
        if (tenon::detail::Observation* const innermost = tenon::detail::observation())
          return compute_observed(*innermost, r, rule, id, -1, operand, immediate, value);
      compute(rule, id, operand, r.n, immediate, value);
    }
  }
  // compute() between before() and after() of the observers. `sum`: what node id adds up is the gradient of this
  // operand of the call; -1: it is a part of the derivative.
  static void compute_observed(tenon::detail::Observation& innermost, const Record& r, const Rule& rule, int id,
                               int sum, const Value* const* operand, std::uint64_t immediate, Value& value);
  // Runs the kernel of a node on the second target, if this thread computes there.
  static bool launched_there(const Rule& rule, int id, const Value* const* operand, const Arguments& named);
  // The value of a node of a rule; those of its Parts, which are as far from it as the nodes are, as well.
  static void compute(const Rule& rule, int id, const Value* const* operand, long n, std::uint64_t immediate,
                      Value& value);
  // The same of a node whose operands may be images, and of one with Parts.
  static void compute_on_images(const Rule& rule, int id, const Value* const* operand, Arguments& a, Value& value,
                                const FurtherResults* further);
  static void compute_several(const Rule& rule, int id, const Value* const* operand, Arguments& a, Value& value);
  Value added(const Rule& rule, int k, const Value& sum, const Value& term, long n);
  Value added_observed(const Record& r, const Rule& rule, int k, const Value& sum, const Value& term);

  tenon::detail::Owned<TapeMemory> memory_ = TapeMemory::take();
  const ParameterArena* arena_ = nullptr;
  unsigned generation_ = next_generation();
  Tape* outer_ = nullptr;
  mutable bool hides_outer_ = false;
};

/// Records on a tape until the end of the scope, also if an operator throws.
class Recording {
 public:
  explicit Recording(Tape& tape) : tape_(tape) { tape.resume(); }
  ~Recording() { tape_.pause(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Tape& tape_;
};

#if TENON_DEFINES
TENON_INLINE void Tape::resume() {
  if (active() == this) return;
  for (const Tape* on_chain = active(); on_chain; on_chain = on_chain->outer_)
    if (on_chain == this)
      throw_error<RuntimeError>(
          "Tape::resume: another tape was started inside of this one and is still active: end it first.");
  outer_ = active();
  active() = this;
}
TENON_INLINE void Tape::clear() {
  memory_->clear();
  hides_outer_ = false;
  arena_ = nullptr;
  release_arenas();
  generation_ = next_generation();
}
TENON_INLINE Tape::Value* Tape::record(const Rule& rule, std::uint64_t immediate, long n, TapeVariable& variable) {
  variable = {new_variable(), generation_};
  memory_->variables.back().record = int(memory_->records.size());
  const std::size_t first = memory_->recorded.size();
  memory_->records.push_back({&rule, first, immediate, n}).keep_place();
  memory_->recorded.fill(first + std::size_t(rule.operands + rule.results));
  Value* const value = &memory_->recorded[first];
  value[rule.operands].variable = variable.index;
  return value;
}
TENON_INLINE void* Tape::gradient_data(const ParameterHandle& p) const {
  return p.arena == arena_ && arena_ ? gradient_data(p.entry) : foreign_gradient(p);
}
TENON_INLINE void* Tape::gradient_data(int entry) const {
  const int v = memory_->parameter_variable.empty() ? -1 : memory_->parameter_variable[std::size_t(entry)];
  return v < 0 ? nullptr : memory_->variables[std::size_t(v)].gradient.data;
}
TENON_INLINE unsigned Tape::next_generation() {
  constexpr unsigned many = 256;  // a thread takes this many at once: an atomic step takes as long as a small operator
  static tenon::detail::Atomic<unsigned> last{0};
  static constinit thread_local unsigned next = 0;
  if (next % many == 0) next = last.fetch_add(many);
  return ++next;
}
TENON_INLINE void Tape::keep(ParameterArena* arena) {
  for (const ParameterArena* kept : memory_->kept)
    if (kept == arena) return;
  arena->retain();
  memory_->kept.push_back(arena);
}
TENON_INLINE void Tape::release_arenas() {
  for (ParameterArena* kept : memory_->kept) kept->release();
  memory_->kept.clear();
}
[[noreturn, gnu::cold]] TENON_INLINE int Tape::refuse_part() {
  throw_error<ValueError>(
      "A part or a copy of a tensor (x[i], x.slice<...>(), x.to<T>(), x.copy()) has no gradient, but a "
      "tape records this calculation: use an operator, slice<Part{0, 2}>(x) or cast<T>(x), or say "
      "that no gradient is wanted, stop_gradient(x)[i].");
}
TENON_INLINE int Tape::foreign_variable(const ParameterHandle& p) {
  for (const auto& [handle, v] : memory_->foreign)
    if (handle == p.data && v.tape == generation_) return v.index;
  const int v = new_variable();
  keep(p.arena);
  memory_->foreign.push_back({p.data, {v, generation_}});
  return v;
}
TENON_INLINE void* Tape::foreign_gradient(const ParameterHandle& p) const {
  for (const auto& [handle, v] : memory_->foreign)
    if (handle == p.data && v.tape == generation_) return memory_->variables[std::size_t(v.index)].gradient.data;
  return nullptr;
}
TENON_INLINE void Tape::run_backward(int root, Value seed) {
  Variable& last = memory_->variables[std::size_t(root)];
  last.gradient = std::move(seed);
  if (last.record < 0) return;
  const std::vector<int>& order = memory_->order.from(
      last.record, memory_->records.size(), [&](int id) { return memory_->records[std::size_t(id)].rule->operands; },
      [&](int id, int k) { return record_before(id, k); });
  std::size_t at = order.size();
  try {
    while (at-- > 0) {
      const Record& r = memory_->records[std::size_t(order[at])];
      const unsigned with = with_gradient(r);
      if (!with) continue;
      if (memory_->bring_back) [[unlikely]]
        memory_->bring_back(*memory_, order[at]);
      replay(r, with);
    }
  } catch (const OutOfMemory& error) {
    memory_->values.clear();
    refuse_gradient(error, memory_->records[std::size_t(order[at])]);
  }
}
[[gnu::noinline]] TENON_INLINE void Tape::add_owners(tenon::detail::MemoryOwners& owners) const {
  for (const Record& r : memory_->records)
    for (int k = 0; k < r.rule->operands + r.rule->results; ++k) {
      const Value& value = values_of(r)[k];
      const double bytes = double(r.rule->node[k].type.bytes(1)) * double(r.rule->node[k].type.batched() ? r.n : 1);
      if (!value.storage || !owners.wants(bytes, value.data)) continue;
      const int maker = value.variable < 0 ? -1 : memory_->variables[std::size_t(value.variable)].record;
      owners.add(
          bytes, value.data,
          text("tensor ", tenon::detail::type_text(r.rule->node[k].type), ", ",
               maker < 0 ? std::string("which ")
                         : text("the result of ", memory_->records[std::size_t(maker)].rule->op->name, ", which "),
               "the derivative of ", r.rule->op->name, " reads"));
    }
}
[[gnu::noinline]] TENON_INLINE void Tape::refuse_forgotten(const Record& r, unsigned operands) {
  int k = 0;
  while (!(operands >> k & 1)) ++k;
  throw_error<RuntimeError>("The derivative of ", r.rule->op->name, " gives operand ", k,
                            " no gradient: call d.flows_to(", k, ", ...) in it, or d.no_gradient(", k,
                            ") if it has none; users detach the operand with stop_gradient.");
}
[[gnu::noinline]] TENON_INLINE void Tape::refuse_gradient(const OutOfMemory& error, const Record& r) const {
  tenon::detail::MemoryOwners owners;
  add_owners(owners);
  std::string where;
#if defined(TENON_OBSERVE)
  if (r.at.entries) where = " in " + tenon::detail::cell_path(r.at.entries, r.at.scope);
  where += tenon::detail::place_text(r.at.location);
#endif
  tenon::detail::refuse_memory(
      error, text(" It is a part of the gradient of ", r.rule->op->name, where, ".", owners.sentence()));
}
#endif  // TENON_DEFINES

}  // namespace tenon::eager
#if TENON_DEFINES
#include <tenon/run/there/replay.hpp>
#endif
