// Cell: the base class of networks and layers, and how a call of a cell runs.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/call/batch_size.hpp>
#include <tenon/graph/observe/watcher.hpp>
#include <tenon/nn/checked_cell.hpp>
#include <tenon/nn/jit.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/nn/traced_graph.hpp>
#include <tenon/run/executor_here.hpp>

namespace tenon::inline TENON_ABI {

/// The parameter as a value in the context of x, for operators that have no other operand: `value_in(x, weight) * 2`.
/// Combined with 16-bit floats, a float32 parameter takes their dtype.
template <ops::Operand X, AnyParameter P>
constexpr auto value_in(const X& x, const P& parameter) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (is_half_dtype(X::dims.dtype) && detail::is_float_parameter<P>)
    return detail::beside_half<X::dims.dtype, detail::is_traced<X>>(std::source_location::current(),
                                                                    detail::builder_of(x), parameter);
  else if constexpr (detail::is_traced<X>)
    return Traced<typename P::type, typename P::shape>(x.builder, detail::lift(*x.builder, parameter));
  else {
    Tensor<typename P::type, typename P::shape> copy = Tensor<typename P::type, typename P::shape>::empty();
    std::memcpy(copy.data(), parameter.values_at(P::dims.bytes(1), tenon::detail::Look::read),
                std::size_t(P::dims.bytes(1)));
    if (eager::Tape* tape = eager::Tape::active()) copy.variable = tape->alias(parameter);
    return copy;
  }
}

/// True while a training step runs or is traced: BatchNorm and Dropout ask.
template <ops::Operand X>
constexpr bool is_training(const X& x) {
  if constexpr (detail::is_traced<X> || is_broken<X>) return x.builder && x.builder->training;
  else return eager::Frame::of_thread().training;
}

namespace nn {

/// Base of all cells: `struct Net : nn::Cell<Net> { ...members...; constexpr auto construct(auto x) const { ... } };`
///
/// A cell has only public members (parameters, cells, arrays of cells, numbers), one base, and no constructor. It is
/// defined at namespace scope. Graphs are compiled with the initial values of numbers: a call throws ValueError if a
/// number has changed; an nn::Setting may change. Both modes run the same `construct`. A call of the outermost cell on
/// tensors runs in the context's mode: as a compiled graph, or operator by operator. Several threads may call one
/// network at the same time, also for the first time; a thread that writes its parameters or flags needs exclusive
/// access.
template <class Self>
struct Cell {
 private:
  // Of tensors from outside of a cell, which construct then sees as values of a graph.
  template <class... X>
  static constexpr bool is_outermost = (tenon::detail::is_tensor<X> && ...) && !(tenon::detail::is_inner<X> || ...);
  template <class X>
  using Seen = tenon::detail::SeenInGraph<X>;
  template <class X, class... All>
  using SeenFirst = typename tenon::detail::SeenFirst<Self, X, is_outermost<All...>>::type;
  template <class... X>
  using Checked = std::conditional_t<(tenon::detail::is_numbers<X> && ...), tenon::detail::NumbersGiven<Self, X...>,
                                     tenon::detail::CheckedNetwork<is_outermost<X...>, Self, X...>>;
  // What is said at the user's line, void for nothing.
  template <class... X>
  static constexpr bool is_refused() {
    if constexpr (!is_outermost<X...>) return !Checked<X...>::ok;
    else return tenon::detail::is_refused<Checked<X...>, Self, Seen<X>...>();
  }
  template <class... X>
  using Refusal = typename tenon::detail::RefusalOf<Checked<X...>, is_refused<X...>()>::type;

 public:
  constexpr Cell() {
    if constexpr (!tenon::detail::CheckedCell<Self>::ok) {
      using Wrong = Mistake<tenon::detail::CheckedCell<Self>>;
      static_cast<void>(Wrong::corrected);
    }
  }

  template <class X, class = void, bool = true, class = void>
  constexpr auto operator()(const X& x, std::source_location at = std::source_location::current()) const {
    if constexpr (is_outermost<X>) static_assert(tenon::detail::is_sound_cell<Self>);
    if constexpr (Checked<X>::ok) return call(at, x);
    else {
      using Wrong = Mistake<Checked<X>>;
      if constexpr (is_outermost<X>) {
        if constexpr (tenon::detail::stops<Self, Seen<X>>(Checked<X>::sentence)) [[maybe_unused]]
          constexpr bool here = tenon::detail::stops_here<Self, Seen<X>>(static_cast<Wrong*>(nullptr));
      }
      return Wrong::corrected;
    }
  }
  template <class X, class Y, class = void, bool = true, class = void>
  constexpr auto operator()(const X& x, const Y& y, std::source_location at = std::source_location::current()) const {
    if constexpr (is_outermost<X, Y>) static_assert(tenon::detail::is_sound_cell<Self>);
    if constexpr (Checked<X, Y>::ok) return call(at, x, y);
    else {
      using Wrong = Mistake<Checked<X, Y>>;
      if constexpr (is_outermost<X, Y>) {
        if constexpr (tenon::detail::stops<Self, Seen<X>, Seen<Y>>(Checked<X, Y>::sentence)) [[maybe_unused]]
          constexpr bool here = tenon::detail::stops_here<Self, Seen<X>, Seen<Y>>(static_cast<Wrong*>(nullptr));
      }
      return Wrong::corrected;
    }
  }
  // Calls with a mistake. Declared only: compilers then name the function, with the sentence among its template
  // arguments, at the user's line (core/text/report.hpp). construct is looked at before all else but what is wrong with
  // the cell, and here: so a compiler goes from the user's call to construct in one step, also in Model::train.
  template <class X, class Net = Self,
            bool = tenon::detail::is_sound_cell<Net> &&
                   requires(const Net& net, const SeenFirst<X, X>& x) { net.construct(x); },
            class Wrong = Refusal<X>>
  requires(!std::is_void_v<Wrong>)
  auto operator()(const X& x, std::source_location at = std::source_location::current()) const;
  template <class X, class Y, class Net = Self,
            bool = tenon::detail::is_sound_cell<Net> && requires(const Net& net, const SeenFirst<X, X, Y>& x,
                                                                 const SeenFirst<Y, X, Y>& y) { net.construct(x, y); },
            class Wrong = Refusal<X, Y>>
  requires(!std::is_void_v<Wrong>)
  auto operator()(const X& x, const Y& y, std::source_location at = std::source_location::current()) const;
  template <class X, class Y, class Z>
  constexpr auto operator()(const X& x, const Y& y, const Z& z,
                            std::source_location at = std::source_location::current()) const {
    if constexpr (Checked<X, Y, Z>::ok) return call(at, x, y, z);
    else {
      using Wrong = Mistake<Checked<X, Y, Z>>;
      return Wrong::corrected;
    }
  }
  template <class X, class Y, class Z, class W>
  constexpr auto operator()(const X& x, const Y& y, const Z& z, const W& w,
                            std::source_location at = std::source_location::current()) const {
    if constexpr (Checked<X, Y, Z, W>::ok) return call(at, x, y, z, w);
    else {
      using Wrong = Mistake<Checked<X, Y, Z, W>>;
      return Wrong::corrected;
    }
  }
  template <class Me = Self>
  constexpr auto operator()() const {
    using Wrong = Mistake<tenon::detail::WithoutArguments<Me>>;
    static_cast<void>(Wrong::corrected);
    return Broken{};
  }

  /// The parameters by name, in the order of the members: `for (auto& [name, parameter] : net.parameters_and_names())`.
  /// Like all of these functions, it first binds the parameters. Settings, such as the rate of a Dropout, are not
  /// listed.
  ParameterDict parameters_and_names() const { return bound().dict(); }
  /// The same as a dictionary: `net.parameters_dict()["conv1.weight"]`.
  ParameterDict parameters_dict() const { return bound().dict(); }
  /// The parameters that training currently changes: no state, not frozen in the type, and not frozen by
  /// requires_grad(false).
  std::vector<ParameterRef> trainable_params() const { return bound().select(true); }
  std::vector<ParameterRef> untrainable_params() const { return bound().select(false); }
  /// Number of elements of the trainable parameters, known at compile time.
  static constexpr long parameter_count() {
    return tenon::detail::trainable_elements(Structure<Self>::table.entry, Structure<Self>::count);
  }

  /// Draws the initial values, unless the parameters have values. A Model and the first call do this automatically.
  void init_parameters() const { bound(); }
  /// Freezes all parameters of this cell and its sub-cells (false), or lets training change them again. A frozen batch
  /// norm keeps its moving statistics, and normalizes by them. It may be called before the network has its parameters,
  /// and does not draw their initial values.
  void requires_grad(bool wanted) const { ParameterList(self()).requires_grad(wanted); }
  /// Sets whether direct calls of the network train (dropout, batch statistics) or evaluate. It does not affect the
  /// steps of a Model. For a part of a network, it applies to the batch norms and dropouts of that part, in training
  /// steps of any kind. After set_train(false) batch norms use their moving statistics and dropouts drop nothing, until
  /// set_train(true) of the part or of the whole network, like eval() and train() of PyTorch's modules. The call may
  /// come before the network has its parameters, and does not draw their initial values.
  const Self& set_train(bool mode = true) const {
    ParameterList(self()).set_train(mode);
    return self();
  }
  /// A copy of the network, with equal parameters and flags. Throws ValueError if a number among the members was
  /// changed.
  Self clone() const {
    check_members(self());
    Self copy{};
    ParameterList(copy).copy_from(bound());
    return copy;
  }

 private:
  ParameterList bound() const {
    const ParameterList parameters(self());
    parameters.bind();
    return parameters;
  }
  constexpr const Self& self() const { return static_cast<const Self&>(*this); }

  template <class... X>
  constexpr auto call(const std::source_location& at, const X&... x) const {
    if constexpr ((is_broken<X> || ...)) {
      return tenon::detail::broken_result<Self>(tenon::detail::builder_among(x...));
    } else if constexpr ((tenon::detail::holds_traced<X> || ...)) {
      Builder* const b = tenon::detail::builder_among(x...);
      Builder::Frame frame;
      b->enter(frame, &self(), type_number<Self>, at);
      if constexpr (!requires(const Self& cell, const X&... v) { cell.construct(v...); }) {
        b->fail(tenon::detail::wrong_arguments<Self, X...>(sizeof...(X), b->in_loss));
        b->leave(frame);
        return tenon::detail::broken_result<Self>(b);
      } else if constexpr (tenon::detail::is_wrong_result<tenon::detail::ResultOf<Self, X...>>) {
        b->fail(tenon::detail::wrong_result<Self, tenon::detail::ResultOf<Self, X...>>());
        b->leave(frame);
        return Broken(b);
      } else {
        using Result = tenon::detail::ResultOf<Self, X...>;
        const Result result = b->skips() ? Result(tenon::detail::stand_in<Result>(*b)) : self().construct(x...);
        b->leave(frame);
        return result;
      }
    } else {
      return call_eager(at, x...);
    }
  }
  template <class... X>
  auto call_eager(const std::source_location& at, const X&... x) const {
    if constexpr ((tenon::detail::is_inner<X> || ...)) {  // inside of another cell
      const eager::CellScope scope(&self(), type_number<Self>, at);
      return self().construct(x...);
    } else return run_outermost(at, x...);
  }
  template <class... X>
  auto run_outermost(const std::source_location& at, const X&... x) const;
  // By name, so that construct may also take auto&.
  template <class... X>
  auto run_inside(const X&... x) const {
    return tenon::detail::outer(self().construct(x...));
  }
  template <class... X>
  auto run_by_operators(bool training, std::span<const Draw> draws, const X&... x) const {
    const FlushDenormals flush;
    const eager::RootScope root(self(), training, eager::Frame::free_random_state(), draws);
    // by name, so that construct may also take auto&
    return [this](const auto&... values) {
      return tenon::detail::outer(self().construct(values...));
    }(tenon::detail::inner(x)...);
  }
};

}  // namespace nn
namespace detail {
/// What watchers are told of a call of a cell by itself.
template <class C, class... X>
NetworkStep step_of_call(const C& cell, const X&... x) {
  if constexpr (!observable) return {};
  else {
    static const CountedSteps counts;
    long n = 1;
    const Program* program = nullptr;
    if constexpr (have_keys<X...>) {
      n = common_batch_size(class_name<C>(), x...);
      using Graph = Compiled<Forward<C, typename KeyFor<X>::type...>>;
      if constexpr (!Graph::asks_values) program = &program_here<Graph>();
    }
    return {class_name<C>(),   &cell, StepKind::call, get_context().mode, counts.next(StepKind::call), n, program,
            NetworkParts(cell)};
  }
}
}  // namespace detail
namespace nn {

template <class Self>
template <class... X>
auto Cell<Self>::run_outermost(const std::source_location& at, const X&... x) const {
  if (eager::Frame::of_thread().root) {  // inside of another cell after all, with a tensor that was made there
    const eager::CellScope scope(&self(), type_number<Self>, at);
    return run_inside(tenon::detail::inner(x)...);
  }
  check_members(self());
  const ParameterList parameters(self());
  parameters.bind();
  const bool training = parameters.arena() && parameters.arena()->training;
  const tenon::detail::StepWatch watch(tenon::detail::step_of_call(self(), x...));
  if constexpr (!tenon::detail::have_keys<X...>) return run_by_operators(training, {}, x...);
  else {
    using Graph = Compiled<tenon::detail::Forward<Self, typename tenon::detail::KeyFor<X>::type...>>;
    if constexpr (Graph::asks_values) {
      if (get_context().mode == Mode::graph)
        throw_error<RuntimeError>(Graph::sentence.view(), "; or call it after set_context({.mode = Mode::pynative}).");
      return run_by_operators(training, {}, x...);
    } else if (!training && !eager::Tape::active() &&
               (Graph::nested_gradient ||
                (get_context().mode == Mode::graph && !tenon::detail::every_value_observed()))) {
      const ExecutorHere here = executor_here<Graph>();
      Executor& executor = *here;
      const long n = tenon::detail::common_batch_size(class_name<Self>(), x...);
      executor.bind(parameters.base(), eager::Frame::graph_random_state(), parameters.values());
      const void* inputs[]{x.data()...};
      executor.run(inputs, n);
      return tenon::detail::results_of<Graph>(executor, n, std::make_integer_sequence<int, Graph::graph.outputs>{});
    } else {
      // the trace is one of an evaluation
      return run_by_operators(training, training ? std::span<const Draw>() : tenon::detail::draws_of<Graph>(), x...);
    }
  }
}

}  // namespace nn
}  // namespace tenon
