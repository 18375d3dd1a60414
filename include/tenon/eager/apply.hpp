// apply<Op>: the one door through which every operator call goes, in both modes.
#pragma once
#include <tenon/core/report.hpp>
#include <tenon/eager/frame.hpp>
#include <tenon/eager/inner.hpp>
#include <tenon/eager/tape.hpp>
#include <tenon/graph/traced.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Reshape;
}

/// A number written among operands: it takes the dtype that the operator's other operand asks for.
template <Element T>
struct Number : ops::OperandTag {
  using type = T;
  double value;
  constexpr explicit Number(double v) : value(v) {}
};

namespace detail {

template <class V> struct KeyFor;
template <class T, int... E> struct KeyFor<Tensor<T, Shape<E...>>> { using type = TypeKey<dtype_of<T>, E...>; };
template <class T, int... E> struct KeyFor<Tensor<T, InnerShape<E...>>> { using type = TypeKey<dtype_of<T>, E...>; };
template <class T, int... E> struct KeyFor<Traced<T, Shape<E...>>> { using type = TypeKey<dtype_of<T>, E...>; };
template <class T, int... E, auto Init, bool Trainable> struct KeyFor<Parameter<T, Shape<E...>, Init, Trainable>> { using type = TypeKey<dtype_of<T>, E...>; };
template <class P, int... E> struct KeyFor<ParameterView<P, Shape<E...>>> { using type = TypeKey<dtype_of<typename P::type>, E...>; };
template <class T> struct KeyFor<Number<T>> { using type = TypeKey<dtype_of<T>>; };

/// Result type and kernel of a call, worked out once per combination of shapes.
template <class Operator, auto Config, class... Keys>
struct Inference {
  using Op = Operator;
  static constexpr OperandTypes types{{Keys::value...}, int(sizeof...(Keys))};
  static constexpr Attributes attributes = pack<typename Op::Config>(Config);
  struct Result {
    TensorType type;
    Sentence error;
  };
  static constexpr Result infer() {
    Result r;
    if constexpr (requires { Op::derivative; }) r.type = Op::shape(types, Config, r.error);
    else r.error << Op::name << " declares no derivative: write `static constexpr void derivative(Derivative&)` or `static constexpr None derivative{};`";
    return r;
  }
  static constexpr Result inferred = infer();
  static constexpr const Sentence& sentence = inferred.error;
  static constexpr bool ok = inferred.error.empty();
  static constexpr TensorType result_type = inferred.type;
  static constexpr KernelKey value = kernel_key(&info<Op>, result_type, types.type, types.count, attributes);
};

template <class I, int... K> Shape<I::result_type.extent[K]...> shape_from(std::integer_sequence<int, K...>);
template <class I> using ResultShape = decltype(shape_from<I>(std::make_integer_sequence<int, I::result_type.rank>{}));
template <class I, int... K> InnerShape<I::result_type.extent[K]...> inner_shape_from(std::integer_sequence<int, K...>);
template <class I> using InnerResultShape = decltype(inner_shape_from<I>(std::make_integer_sequence<int, I::result_type.rank>{}));
template <class I> using ResultElement = CppType<I::result_type.dtype>;

template <class T, class S> constexpr Builder* builder_of(const Traced<T, S>& v) { return v.builder; }
template <class V> constexpr Builder* builder_of(const V&) { return nullptr; }  // parameters, numbers, tuples of outputs

template <class T, class S> constexpr int lift(Builder&, const Traced<T, S>& v) { return v.id; }
template <class T> constexpr int lift(Builder& b, const Number<T>& v) { return b.constant(dtype_of<T>, v.value); }
template <class T, class S, auto Init, bool Trainable>
constexpr int lift(Builder& b, const Parameter<T, S, Init, Trainable>& p) {
  return b.parameter(&p, type_number<Parameter<T, S, Init, Trainable>>);
}
template <class Reshape = ops::Reshape>
constexpr int lift_view(Builder& b, const TensorType& type, int node) {
  const int view = b.template call<Reshape>(Reshape::to(type), node);
  b.nodes[std::size_t(view)].immediate = parameter_view;
  return view;
}
template <class P, class S>
constexpr int lift(Builder& b, const ParameterView<P, S>& v) {
  return lift_view(b, ParameterView<P, S>::dims, lift(b, v.parameter));
}

template <class V> inline constexpr bool is_traced = false;
template <class T, class S> inline constexpr bool is_traced<Traced<T, S>> = true;
template <class V> inline constexpr bool is_tensor = false;
template <class T, class S> inline constexpr bool is_tensor<Tensor<T, S>> = true;

template <class I, class... V>
constexpr auto apply_traced(const Location& at, std::uint64_t immediate, const V&... v) {
  Builder* b = nullptr;
  ((b = b ? b : builder_of(v)), ...);
  b->location = at;
  if constexpr (!I::ok) {
    b->fail(I::sentence);
    return Broken(b);
  } else {
    const int operand[]{lift(*b, v)...};
    b->location = at;
    const int id = b->call(&info<typename I::Op>, operand, int(sizeof...(V)), I::attributes, I::result_type, immediate);
    return Traced<ResultElement<I>, ResultShape<I>>(b, id);
  }
}

/// What the shapes of an eager call decide: constants, one set per combination of operator and shapes.
struct EagerInfo {
  std::string_view name;
  const KernelEntry* kernel;  // null: a view, which shares the elements of operand 0
  const eager::Rule* rule;    // null: no gradient flows through the result
  TensorType result;
  int operands;
  bool effect;                // the kernel changes operand 0 and has no result
};
template <class I>
constexpr EagerInfo describe_eager() {
  EagerInfo call{I::Op::name, nullptr, nullptr, I::result_type, I::types.count, I::Op::effect};
  if constexpr (!I::Op::view) call.kernel = &kernel_entry<CallOf<I>>;
  if constexpr (!I::Op::effect && is_floating(I::result_type.dtype)) call.rule = &eager::RuleOf<I>::rule;
  return call;
}
template <class I> inline constexpr EagerInfo eager_info = describe_eager<I>();

/// An operand of an eager call, whatever its type.
struct EagerOperand {
  const void* data = nullptr;
  const Storage* storage = nullptr;            // of a Tensor
  const ParameterHandle* parameter = nullptr;  // of a Parameter
  TapeVariable variable{};
  long n = -1;                                 // batch size, -1: none
  std::uint64_t number = 0;                    // the bytes of a Number

  template <class T, class S> EagerOperand(const Tensor<T, S>& x) : data(x.data()), storage(&x.storage()), variable(x.variable), n(Tensor<T, S>::dims.batched() ? x.n() : -1) {}
  template <class T, class S, auto Init, bool Trainable> EagerOperand(const Parameter<T, S, Init, Trainable>& p) : data(p.data), parameter(&p) {}
  template <class P, class S> EagerOperand(const ParameterView<P, S>& view) : EagerOperand(view.parameter) {}
  template <class T> EagerOperand(const Number<T>& x) : number(constant_bytes(dtype_of<T>, x.value)) {}

  const void* address() const { return storage || parameter ? data : &number; }
  eager::Tape::Value on_tape(int index) const {
    eager::Tape::Value value{const_cast<void*>(data), {}, index};
    if (storage) value.storage = *storage;
    if (!storage && !parameter) {  // the tape outlives this call
      value.storage = Storage(sizeof number);
      value.data = std::memcpy(value.storage.data(), &number, sizeof number);
    }
    return value;
  }
};

[[gnu::cold]] inline void refuse_operand(const EagerInfo& call, const EagerOperand& operand, int k, long n) {
  if (operand.storage && !*operand.storage) throw ValueError(text(call.name, " got a tensor without elements (operand ", k, "): assign to it first."));
  if (operand.parameter) throw RuntimeError(text(call.name, " got a parameter that is not bound yet: call its network once, make a Model of it, or call init_parameters() on it."));
  throw ValueError(text(call.name, " got operands of batch size ", n, " and ", operand.n, "."));
}

struct EagerResult {
  Storage storage;
  long n = 1;
  TapeVariable variable{};
};
/// Runs an eager call and records it if a tape wants to know. No template: it exists once.
inline EagerResult run_eager(const EagerInfo& call, const EagerOperand* operand, std::uint64_t immediate) {
  eager::Tape* const tape = eager::Tape::active();
  int variable[max_operands];
  bool recorded = false;
  long n = -1;
  Arguments a;
  a.immediate = immediate;
  for (int k = 0; k < call.operands; ++k) {
    const EagerOperand& x = operand[k];
    if ((x.storage && !*x.storage) || (x.parameter && !x.data) || (n >= 0 && x.n >= 0 && n != x.n)) refuse_operand(call, x, k, n);
    if (x.n >= 0) n = x.n;
    variable[k] = !tape ? -1 : x.parameter ? tape->variable(*x.parameter) : tape->variable(x.variable);
    recorded |= variable[k] >= 0;
    a.buffer[k + 1] = const_cast<void*>(x.address());
  }
  a.n = n < 0 ? 1 : n;
  EagerResult result;
  result.n = call.result.batched() ? a.n : 1;  // a mean over the batch has no batch size
  const FlushDenormals flush;
  if (call.effect) {
    a.buffer[0] = a.buffer[1];
  } else if (!call.kernel) {
    result.storage = *operand[0].storage;
  } else {
    result.storage = Storage(static_cast<std::size_t>(call.result.bytes(a.n)));
    a.buffer[0] = result.storage.data();
  }
  if (call.kernel) launch(*call.kernel, a);
  if (recorded && call.rule) {
    eager::Tape::Value value[max_operands];
    for (int k = 0; k < call.operands; ++k) value[k] = operand[k].on_tape(variable[k]);
    eager::Tape::Value made{result.storage.data(), result.storage, -1};
    tape->record(*call.rule, value, made, immediate, a.n, result.variable);
  }
  return result;
}

template <class I, class... V>
auto apply_eager(std::uint64_t immediate, const V&... v) {
  if constexpr (!I::ok) {
    using Wrong = Mistake<I>;
    return Wrong::corrected;
  } else {
    const EagerOperand operand[]{v...};
    EagerResult made = run_eager(eager_info<I>, operand, immediate);
    if constexpr (!I::Op::effect) {
      using Result = Tensor<ResultElement<I>, std::conditional_t<(is_inner<V> || ...), InnerResultShape<I>, ResultShape<I>>>;
      Result result(std::move(made.storage), made.n);
      result.variable = made.variable;
      return result;
    }
  }
}

}  // namespace detail

namespace detail {
/// Whether a call on tensors is right, and the sentence if it is not. Errors of a trace are reported by whoever traces.
template <bool on_tensors, class Op, auto Config, class... V>
struct CheckedCall { static constexpr bool ok = true; };
template <class Op, auto Config, class... V>
struct CheckedCall<true, Op, Config, V...> : Inference<Op, Config, typename KeyFor<V>::type...> {};
template <class Op, auto Config, class... V>
using EagerCall = CheckedCall<(is_tensor<V> || ...) && !((is_traced<V> || is_broken<V>) || ...), Op, Config, V...>;
}  // namespace detail

/// Calls operator Op on operands: adds a node to the graph being traced, or runs the kernel at once.
///
/// Config     the operator's settings, a value of Op::Config
/// operands   Tensor, Traced, Parameter, Number; at least one is no Parameter and no Number
/// immediate  a run-time number for the kernel, such as the key of a random stream
template <class Op, auto Config = typename Op::Config{}, class... V>
constexpr auto apply_with(const Location& at, std::uint64_t immediate, const V&... operands) {
  if constexpr ((is_broken<V> || ...)) {
    Builder* b = nullptr;
    ((b = b ? b : [](const auto& v) -> Builder* { if constexpr (requires { v.builder; }) return v.builder; else return nullptr; }(operands)), ...);
    return Broken(b);
  } else {
    static_assert(((detail::is_traced<V> || detail::is_tensor<V>) || ...),
                  "an operator needs at least one operand that is not a parameter or a number: bring a parameter in by value_in(x, parameter)");
    static_assert(!((detail::is_traced<V> || ...) && (detail::is_tensor<V> || ...)),
                  "a tensor with values cannot be used while a graph is traced: pass it in as an argument, or make it a parameter of the cell");
    using I = detail::Inference<Op, Config, typename detail::KeyFor<V>::type...>;
    if constexpr ((detail::is_traced<V> || ...)) return detail::apply_traced<I>(at, immediate, operands...);
    else return detail::apply_eager<I>(immediate, operands...);
  }
}
template <class Op, auto Config = typename Op::Config{}, class... V>
constexpr auto apply(const Location& at, const V&... operands) {
  using Call = detail::EagerCall<Op, Config, V...>;
  if constexpr (Call::ok) return apply_with<Op, Config>(at, 0, operands...);
  else {  // here and not one call deeper: compilers print a line or three for each
    using Wrong = Mistake<Call>;
    return Wrong::corrected;
  }
}

}  // namespace tenon
