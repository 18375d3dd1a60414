// Cell: the base of everything that has parameters or contains cells, and how a call of one runs.
#pragma once
#include <tenon/eager/apply.hpp>
#include <tenon/eager/batch_size.hpp>
#include <tenon/kernel/compiled.hpp>
#include <tenon/nn/jit.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/ops/structural.hpp>

namespace tenon::inline TENON_ABI {

namespace detail {

// Converts to a base class of T only, to find a second base among the initialisers.
template <class T>
struct BaseOf {
  template <class B>
  requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>)
  constexpr operator B() const;
};

/// Whether a class can be a cell, and the sentence if it cannot.
template <class Self>
struct CheckedCell {
  static constexpr bool one_base = !requires { Self{{}, BaseOf<Self>{}}; };
  // The position of a member that cannot be one, -1 if there is none.
  static constexpr int find_wrong() {
    if constexpr (std::is_aggregate_v<Self> && one_base) return wrong_member(members_of<Self>());
    else return -1;
  }
  static constexpr int wrong = find_wrong();
  static constexpr bool ok = std::is_aggregate_v<Self> && one_base && wrong < 0;
  static constexpr Sentence say() {
    if constexpr (wrong >= 0) return wrong_member_sentence<Self, wrong>(members_of<Self>());
    else if constexpr (std::is_aggregate_v<Self>)
      return Sentence{} << "a cell has one base class, tenon::nn::Cell<itself>: make the second base a member";
    else
      return Sentence{}
             << "a cell has only public members, no constructor and no virtual function: give members their values by "
                "initialisers, options as template arguments";
  }
  static constexpr Sentence sentence = say();
};

/// Number of arguments that construct takes, tried with arguments of one type; -1 if it takes no such arguments.
template <class Self, class Argument, class... X>
constexpr int argument_count() {
  if constexpr (requires(const Self& cell, const X&... x) { cell.construct(x...); }) return int(sizeof...(X));
  else if constexpr (sizeof...(X) < 4) return argument_count<Self, Argument, X..., Argument>();
  else return -1;
}
/// "Dense takes 1 argument, got 2"
template <class Self, class First = Traced<float, Shape<dyn>>, class... X>
constexpr Sentence wrong_arguments(int got) {
  constexpr int count = argument_count<Self, First>();
  Sentence s;
  s << class_name<Self>();
  if constexpr (requires(Self& cell, const First& first, const X&... x) { cell.construct(first, x...); })
    if (got > 0) return s << "::construct must be const: write constexpr auto construct(auto x) const";
  if (count == got || count < 0)
    return s << " has no construct that takes " << got
             << (got == 1 ? " argument of this type" : " arguments of these types");
  s << " takes " << count << (count == 1 ? " argument" : " arguments") << ", got ";
  return got ? s << got : s << "none";
}

/// What the call of a cell gives where an error has been reported. A cell whose construct returns a tuple says of how
/// many results (`static constexpr int results = 3;`), so that `auto [a, b, c] = cell(x);` does not fail once more.
template <class Self>
constexpr auto broken_result(Builder* b) {
  if constexpr (requires { Self::results; })
    return [b]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple((void(I), Broken(b))...);
    }(std::make_index_sequence<std::size_t(Self::results)>());
  else return Broken(b);
}

/// The forward graph of a cell for arguments of given types, in evaluation.
template <class Net, class... Keys>
struct Forward {
  static constexpr const Entry* entries = Structure<Net>::table.entry;
  static constexpr Builder trace() {
    Builder b;
    b.entries = entries;
    b.entry_count = Structure<Net>::count;
    trace_arguments(b, std::index_sequence_for<Keys...>{});
    return b;
  }
  template <std::size_t... I>
  static constexpr void trace_arguments(Builder& b, std::index_sequence<I...>) {
    trace_call(b, Traced<typename Keys::type, typename Keys::shape>(&b, b.leaf(&info<ops::Input>, Keys::value, I))...);
  }
  template <class... X>
  static constexpr void trace_call(Builder& b, const X&... x) {
    if constexpr (requires(const Net& net, const X&... v) { net.construct(v...); })
      add_outputs(b, prototype<Net>.construct(x...));
    else b.fail(wrong_arguments<Net, X...>(sizeof...(X)));
  }
  template <class V>
  static constexpr void add_outputs(Builder& b, const V& value) {
    if constexpr (is_traced<V>) b.outputs.push_back(value.id);
    else if constexpr (requires { std::tuple_size<V>::value; })
      std::apply([&](const auto&... v) { (add_outputs(b, v), ...); }, value);
  }
};

/// Stands for the graph of a trace that does not run to its end in constant evaluation.
struct NotConstexpr {
  static constexpr bool ok = false, asks_values = false;
  static constexpr Sentence sentence = Sentence{}
                                       << "construct cannot run while the program is compiled: write constexpr auto "
                                          "construct(auto x) const, call constexpr functions only, and print "
                                       << "inside of if (!std::is_constant_evaluated())";
};
template <class Source>
constexpr bool runs_to_its_end() {
  Source::trace();
  return true;
}
template <class Source>
concept RunsToItsEnd = requires { typename std::bool_constant<runs_to_its_end<Source>()>; };
// A class, for nvcc takes another type for Source if the concept stands in the alias.
template <class Source, Passes passes, bool runs = RunsToItsEnd<Source>>
struct Tried {
  using type = Compiled<Source, passes>;
};
template <class Source, Passes passes>
struct Tried<Source, passes, false> {
  using type = NotConstexpr;
};
/// The compiled graph of a trace, or NotConstexpr. The trial costs one trace more: milliseconds.
template <class Source, Passes passes = Passes{}>
using TriedGraph = typename Tried<Source, passes>::type;

/// The random calls of a graph's trace; none if it could not be traced.
template <class Graph>
constexpr std::span<const Draw> draws_of() {
  if constexpr (Graph::ok) return Graph::draws;
  else return {};
}

/// True for arguments that a graph can take as inputs: tensors, not tuples of them.
template <class... X>
inline constexpr bool have_keys = requires { (sizeof(KeyFor<X>) + ...); };

/// Whether the call of a network on tensors is right, and the sentence if it is not. Errors of a trace are reported by
/// whoever traces.
template <bool on_tensors, class Net, class... X>
struct CheckedNetwork {
  static constexpr bool ok = true;
};
template <class Net, class... X>
struct CheckedNetwork<true, Net, X...> {
  using Graph = TriedGraph<Forward<Net, typename KeyFor<X>::type...>>;
  static constexpr const Sentence& sentence = Graph::sentence;
  static constexpr bool ok = Graph::ok || Graph::asks_values;
};
template <class Net>
struct WithoutArguments {
  static constexpr Sentence sentence = wrong_arguments<Net>(0);
};
}  // namespace detail

/// The parameter as a value in the context of x, for operators that have no other operand: `value_in(x, weight) * 2`.
/// Beside 16-bit floats a float32 parameter takes their dtype.
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
    std::memcpy(copy.data(), parameter.data, std::size_t(P::dims.bytes(1)));
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
/// A cell has public members only (parameters, cells, arrays of cells, numbers), one base, no constructor, and stands
/// at namespace scope. Numbers keep their initial values, which graphs are compiled with: a call throws ValueError if
/// one has changed; nn::Setting may change. `construct` is the one source for both modes. Calling the outermost cell on
/// tensors runs it as the context's mode says: compiled as a graph, or operator by operator. Several
/// threads may call one network at the same time, also for the first time; who writes its parameters or flags wants it
/// for himself.
template <class Self>
struct Cell {
  static constexpr bool is_cell = true;

  constexpr Cell() {
    if constexpr (!tenon::detail::CheckedCell<Self>::ok) {
      using Wrong = Mistake<tenon::detail::CheckedCell<Self>>;
      static_cast<void>(Wrong::corrected);
    }
  }

  template <class X>
  constexpr auto operator()(const X& x, std::source_location at = std::source_location::current()) const {
    if constexpr (Checked<X>::ok) return call(at, x);
    else {
      using Wrong = Mistake<Checked<X>>;
      return Wrong::corrected;
    }
  }
  template <class X, class Y>
  constexpr auto operator()(const X& x, const Y& y, std::source_location at = std::source_location::current()) const {
    if constexpr (Checked<X, Y>::ok) return call(at, x, y);
    else {
      using Wrong = Mistake<Checked<X, Y>>;
      return Wrong::corrected;
    }
  }
  template <class X, class Y, class Z>
  constexpr auto operator()(const X& x, const Y& y, const Z& z,
                            std::source_location at = std::source_location::current()) const {
    if constexpr (Checked<X, Y, Z>::ok) return call(at, x, y, z);
    else {
      using Wrong = Mistake<Checked<X, Y, Z>>;
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
  /// Binds them first, as all of these functions do. Not listed are settings, such as the rate of a Dropout.
  ParameterDict parameters_and_names() const { return bound().dict(); }
  /// The same, to look one up: `net.parameters_dict()["conv1.weight"]`.
  ParameterDict parameters_dict() const { return bound().dict(); }
  /// Those that training changes now: neither state, nor frozen in the type, nor by requires_grad(false).
  std::vector<ParameterRef> trainable_params() const { return bound().select(true); }
  std::vector<ParameterRef> untrainable_params() const { return bound().select(false); }
  /// Number of elements of the trainable parameters, known to the compiler.
  static constexpr long parameter_count() {
    return tenon::detail::trainable_elements(Structure<Self>::table.entry, Structure<Self>::count);
  }

  /// Draws the initial values, unless that has been done. A Model and the first call do it by themselves.
  void init_parameters() const { bound(); }
  /// Freezes all parameters below this cell (false), or lets training change them again.
  void requires_grad(bool wanted) const { bound().requires_grad(wanted); }
  /// Says whether direct calls of the network train (dropout, batch statistics) or evaluate. One flag serves the whole
  /// network, also when it is set on a part. A Model decides for its own steps.
  const Self& set_train(bool mode = true) const {
    if (ParameterArena* arena = bound().arena()) arena->training = mode;
    return self();
  }
  /// A network of its own with equal parameters and flags. Throws ValueError if a number among the members was changed.
  Self clone() const {
    check_members(self());
    Self copy{};
    ParameterList(copy).copy_from(bound());
    return copy;
  }

 private:
  template <class... X>
  using Checked =
      tenon::detail::CheckedNetwork<(tenon::detail::is_tensor<X> && ...) && !(tenon::detail::is_inner<X> || ...), Self,
                                    X...>;

  ParameterList bound() const {
    const ParameterList parameters(self());
    parameters.bind();
    return parameters;
  }
  constexpr const Self& self() const { return static_cast<const Self&>(*this); }

  template <class... X>
  constexpr auto call(const std::source_location& at, const X&... x) const {
    if constexpr ((is_broken<X> || ...)) {
      Builder* b = nullptr;
      ((b = b ? b : [](const auto& v) -> Builder* {
         if constexpr (requires { v.builder; }) return v.builder;
         else return nullptr;
       }(x)),
       ...);
      return tenon::detail::broken_result<Self>(b);
    } else if constexpr ((tenon::detail::is_traced<X> || ...)) {
      Builder* b = nullptr;
      ((b = b ? b : tenon::detail::builder_of(x)), ...);
      const Builder::Frame outer = b->enter(&self(), type_number<Self>, at);
      if constexpr (requires(const Self& cell, const X&... v) { cell.construct(v...); }) {
        const auto result = self().construct(x...);
        b->leave(outer);
        return result;
      } else {
        b->fail(tenon::detail::wrong_arguments<Self, X...>(sizeof...(X)));
        b->leave(outer);
        return tenon::detail::broken_result<Self>(b);
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
  template <class Graph, int... K>
  static auto results_of(const Executor& executor, long n, std::integer_sequence<int, K...>) {
    if constexpr (sizeof...(K) == 1) return tenon::detail::output_tensor<Graph, 0>(executor, n);
    else return std::tuple(tenon::detail::output_tensor<Graph, K>(executor, n)...);
  }
  template <class... X>
  auto run_by_operators(bool training, std::span<const Draw> draws, const X&... x) const {
    const FlushDenormals flush;
    const eager::RootScope root(self(), training, eager::Frame::free_random_state(), draws);
    return tenon::detail::outer(self().construct(tenon::detail::inner(x)...));
  }
};

template <class Self>
template <class... X>
auto Cell<Self>::run_outermost(const std::source_location& at, const X&... x) const {
  if (eager::Frame::of_thread().root) {  // inside of another cell after all, with a tensor that was made there
    const eager::CellScope scope(&self(), type_number<Self>, at);
    return tenon::detail::outer(self().construct(tenon::detail::inner(x)...));
  }
  check_members(self());
  const ParameterList parameters(self());
  parameters.bind();
  const bool training = parameters.arena() && parameters.arena()->training;
  if constexpr (!tenon::detail::have_keys<X...>) return run_by_operators(training, {}, x...);
  else {
    using Graph = Compiled<tenon::detail::Forward<Self, typename tenon::detail::KeyFor<X>::type...>>;
    if constexpr (Graph::asks_values) {
      if (get_context().mode == Mode::graph)
        throw_error<RuntimeError>(Graph::sentence.view(), "; or call it after set_context({.mode = Mode::pynative}).");
      return run_by_operators(training, {}, x...);
    } else if (get_context().mode == Mode::graph && !training && !eager::Tape::active()) {
      thread_local Executor executor(Graph::program);
      const long n = tenon::detail::common_batch_size(class_name<Self>(), x...);
      executor.bind(parameters.base(), reinterpret_cast<std::byte*>(eager::Frame::free_random_state()));
      const void* inputs[]{x.data()...};
      executor.run(inputs, n);
      return results_of<Graph>(executor, n, std::make_integer_sequence<int, Graph::graph.outputs>{});
    } else {
      // the trace is one of an evaluation
      return run_by_operators(training, training ? std::span<const Draw>() : tenon::detail::draws_of<Graph>(), x...);
    }
  }
}

}  // namespace nn
}  // namespace tenon
