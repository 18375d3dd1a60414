// Observers: objects notified of every operation as it runs, and how they are registered.
#pragma once
#include <concepts>
#include <span>
#include <tuple>
#include <utility>

#include <tenon/core/tensor/any_tensor.hpp>
#include <tenon/graph/observe/operation.hpp>
#include <tenon/graph/observe/operation_run.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {
template <class O>
concept TakesValues = requires(O& o, const Operation& operation, std::span<const AnyTensor> values) {
  o.after(operation, values, values);
};
template <class O>
concept WantsEveryValue = requires { requires O::every_value; };
template <class O>
concept WantsViews = WantsEveryValue<O> && requires { requires O::every_view; };
template <class O>
concept TakesRuns = requires(O& o, const Operation& operation, std::span<const OperationRun> runs) {
  ObserverClock(O::clock);
  o.ran(operation, runs);
} && !TakesValues<O>;
}  // namespace detail

/// Who looks at operations. A class with
///
///     void before(const Operation&);
///     void after(const Operation&);                            or, to see the elements as well:
///     void after(const Operation&, std::span<const AnyTensor> operands, std::span<const AnyTensor> results);
///
/// Of an operator that changes its first operand in place, such as an optimizer's, this operand is the result. Elements
/// are row-major, on the host, and valid until `after` returns.
///
/// An observer sees the step as it runs: fused where graph mode fuses, and, where it takes a tile of samples through
/// several operators, each operation once per tile. With `static constexpr bool every_value = true;` it sees each
/// operator of the source instead: then a graph runs operator by operator, with the same bits. With every_view beside
/// that it also sees those that compute nothing, such as reshape and flatten.
///
/// One that sees no values and wants to know when operations run, such as a profiler, has two members more:
///
///     static constexpr ObserverClock clock = ...;                        tells a moment, in any thread
///     void ran(const Operation&, std::span<const OperationRun> runs);    in the thread that runs the step
///
/// It is told of an operation on tiles by ran() alone: once, after the last tile, with a run for each tile and the
/// whole batch as n. Then several threads take tiles at the same time, as they do without an observer; for other
/// observers all of them take one tile after the other. Of nested observers all must have the same clock.
template <class O>
concept Observer = requires(O& o, const Operation& operation) { o.before(operation); } &&
                   (detail::TakesValues<O> || requires(O& o, const Operation& operation) { o.after(operation); });

namespace detail {
/// What an observer is told.
struct ObserverCalls {
  void (*before)(void*, const Operation&);
  void (*after)(void*, const Operation&, std::span<const AnyTensor>, std::span<const AnyTensor>);
  void (*ran)(void*, const Operation&, std::span<const OperationRun>);
  bool views;  // it wants to be told of these
};
/// An observer without its type, on the list of those of a thread.
struct Observation {
  void* observer = nullptr;
  const ObserverCalls* tell = nullptr;
  bool takes_values = false, every_value = false, every_view = false;  // this one, or one further out
  ObserverClock clock = nullptr;  // of this one and all further out that they take runs, else null
  Observation* outer = nullptr;
};
/// The innermost observation of this thread, null for none: what an operation asks.
inline Observation*& observation() {
  static constinit thread_local Observation* innermost = nullptr;
  return innermost;
}
/// Whether an observer wants what stands in the source, not what graph mode makes of it.
inline bool every_value_observed() {
  if constexpr (observable) return observation() && observation()->every_value;
  else return false;
}
/// Notifies all observers. Operations executed by an observer are not themselves observed.
void tell_before(Observation& innermost, const Operation& operation);
void tell_after(Observation& innermost, const Operation& operation, std::span<const AnyTensor> operands = {},
                std::span<const AnyTensor> results = {});
void tell_ran(Observation& innermost, const Operation& operation, std::span<const OperationRun> runs);

template <class O>
inline constexpr bool may_observe = observable;
}  // namespace detail

namespace detail {
template <Observer O>
inline constexpr ObserverCalls calls_of{
    [](void* o, const Operation& operation) { static_cast<O*>(o)->before(operation); },
    [](void* o, const Operation& operation, [[maybe_unused]] std::span<const AnyTensor> operands,
       [[maybe_unused]] std::span<const AnyTensor> results) {
      if constexpr (TakesValues<O>) static_cast<O*>(o)->after(operation, operands, results);
      else static_cast<O*>(o)->after(operation);
    },
    []([[maybe_unused]] void* o, [[maybe_unused]] const Operation& operation,
       [[maybe_unused]] std::span<const OperationRun> runs) {
      if constexpr (TakesRuns<O>) static_cast<O*>(o)->ran(operation, runs);
    },
    WantsViews<O>};
/// An observer without its type, by itself.
template <Observer O>
Observation observation_by(O& observer) {
  Observation made;
  made.observer = const_cast<std::remove_const_t<O>*>(&observer);
  made.tell = &calls_of<O>;
  made.takes_values = TakesValues<O>;
  made.every_value = WantsEveryValue<O>;
  made.every_view = WantsViews<O>;
  if constexpr (TakesRuns<O>) made.clock = O::clock;
  return made;
}
/// Makes it the innermost one of this thread.
inline void put_in_front(Observation& own) {
  own.outer = observation();
  if (own.outer) {
    own.takes_values |= own.outer->takes_values;
    own.every_value |= own.outer->every_value;
    own.every_view |= own.outer->every_view;
    if (own.clock != own.outer->clock) own.clock = nullptr;
  }
  observation() = &own;
}
}  // namespace detail

/// Shows the operations of this thread to an observer, from its construction on until the end of its scope:
/// `const Observing scope(observer);`. train() and eval() do that for callbacks that are observers.
class Observing {
 public:
  template <Observer O>
  explicit Observing(O& observer);
  ~Observing() { detail::observation() = own_.outer; }
  Observing(const Observing&) = delete;
  Observing& operator=(const Observing&) = delete;

 private:
  detail::Observation own_;
};

template <Observer O>
Observing::Observing(O& observer) : own_(detail::observation_by(observer)) {
  static_assert(detail::may_observe<O>,
                "an observer needs a program that can be observed: compile all of it with -DTENON_OBSERVE");
  detail::put_in_front(own_);
}

namespace detail {
/// Observing for what is an observer, nothing for what is not: for the callbacks of a run.
template <class C>
struct NotObserving {
  explicit NotObserving(C&) {}
};
template <class C>
struct ObservingOrNot {
  using type = NotObserving<C>;
};
template <Observer C>
struct ObservingOrNot<C> {
  using type = Observing;
};
template <class... C>
using ObservingAmong = std::tuple<typename ObservingOrNot<C>::type...>;
}  // namespace detail

namespace detail {
/// Nobody looks in this scope.
class Unobserved {
 public:
  Unobserved() : innermost_(std::exchange(observation(), nullptr)) {}
  ~Unobserved() { observation() = innermost_; }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;

 private:
  Observation* innermost_;
};
}  // namespace detail

#if TENON_DEFINES
namespace detail {
inline bool is_told(const Observation& o, const Operation& operation) { return o.tell->views || !operation.op->view; }
TENON_INLINE void tell_before(Observation& innermost, const Operation& operation) {
  const Unobserved scope;
  for (Observation* o = &innermost; o; o = o->outer)
    if (is_told(*o, operation)) o->tell->before(o->observer, operation);
}
TENON_INLINE void tell_after(Observation& innermost, const Operation& operation, std::span<const AnyTensor> operands,
                             std::span<const AnyTensor> results) {
  const Unobserved scope;
  for (Observation* o = &innermost; o; o = o->outer)
    if (is_told(*o, operation)) o->tell->after(o->observer, operation, operands, results);
}
TENON_INLINE void tell_ran(Observation& innermost, const Operation& operation, std::span<const OperationRun> runs) {
  const Unobserved scope;
  for (Observation* o = &innermost; o; o = o->outer) o->tell->ran(o->observer, operation, runs);
}
}  // namespace detail
#endif

}  // namespace tenon
