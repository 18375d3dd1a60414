// apply<Op>: the one door through which every operator call goes, in both modes.
#pragma once
#include <tenon/core/text/report.hpp>
#include <tenon/eager/call.hpp>
#include <tenon/eager/frame.hpp>
#include <tenon/eager/inner.hpp>
#include <tenon/eager/observed.hpp>
#include <tenon/eager/refuse_call.hpp>
#include <tenon/graph/traced.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Cast;
struct Reshape;
}

namespace detail {

template <class V>
struct KeyFor;
template <class T, int... E>
struct KeyFor<Tensor<T, Shape<E...>>> {
  using type = TypeKey<dtype_of<T>, E...>;
};
template <class T, int... E>
struct KeyFor<Tensor<T, InnerShape<E...>>> {
  using type = TypeKey<dtype_of<T>, E...>;
};
template <class T, int... E>
struct KeyFor<Traced<T, Shape<E...>>> {
  using type = TypeKey<dtype_of<T>, E...>;
};
template <class T, Dtype half, int... E>
struct KeyFor<Tensor<T, HalfShape<half, E...>>> {
  using type = TypeKey<dtype_of<T>, E...>;
};
template <class T, Dtype half, int... E>
struct KeyFor<Traced<T, HalfShape<half, E...>>> {
  using type = TypeKey<dtype_of<T>, E...>;
};
template <class T, int... E, auto Init, bool Trainable>
struct KeyFor<Parameter<T, Shape<E...>, Init, Trainable>> {
  using type = TypeKey<dtype_of<T>, E...>;
};
template <class P, int... E>
struct KeyFor<ParameterView<P, Shape<E...>>> {
  using type = TypeKey<dtype_of<typename P::type>, E...>;
};
template <class T>
struct KeyFor<Number<T>> {
  using type = TypeKey<dtype_of<T>>;
};

/// What an operand is taken as beside 16-bit floats: a float32 parameter takes their dtype.
template <class V>
inline constexpr bool is_float_parameter = false;
template <class S, auto Init, bool Trainable>
inline constexpr bool is_float_parameter<Parameter<float, S, Init, Trainable>> = true;
template <class P, class S>
inline constexpr bool is_float_parameter<ParameterView<P, S>> = is_float_parameter<P>;
template <Dtype half, class Key>
struct KeyAs;
template <Dtype half, Dtype D, int... E>
struct KeyAs<half, TypeKey<D, E...>> {
  using type = TypeKey<half, E...>;
};
template <Dtype half, class V, bool converts = is_half_dtype(half) && is_float_parameter<V>>
struct KeyBeside : KeyFor<V> {};
template <Dtype half, class V>
struct KeyBeside<half, V, true> : KeyAs<half, typename KeyFor<V>::type> {};

/// The 16-bit dtype in which a call of Op takes its float32 parameters, float32 if it takes them as they are. Operators
/// with `static constexpr bool float_parameters = true;` always do, and effects, which write them.
template <class Op, class... V>
constexpr Dtype parameters_as() {
  Dtype half = Dtype::float32;
  if constexpr ((is_float_parameter<V> || ...))
    if constexpr (!Op::effect && !requires { requires is_set(Op::float_parameters); })
      ((half = is_half_dtype(KeyFor<V>::type::value.dtype) ? KeyFor<V>::type::value.dtype : half), ...);
  return half;
}

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
    if constexpr (tenon::detail::DeclaresDerivative<Op>) r.type = Op::shape(types, Config, r.error);
    else
      r.error << Op::name
              << " declares no derivative: write `static constexpr void derivative(Derivative&)` or `static constexpr "
                 "None derivative{};`";
    if (!r.error.empty())  // a shape that is wrong itself: nothing else is said of it
      for (int k = 0; k < types.count; ++k)
        if (!only_first_is_dynamic(types[k]))
          r.error = Sentence{} << "only the leading extent of a Shape can be dynamic";
    return r;
  }
  static constexpr Result inferred = infer();
  static constexpr const Sentence& sentence = inferred.error;
  static constexpr bool ok = inferred.error.empty();
  static constexpr TensorType result_type = inferred.type;
  static constexpr KernelKey value = kernel_key(&info<Op>, result_type, types.type, types.count, attributes);
};

template <class I, int... K>
Shape<I::result_type.extent[K]...> shape_from(std::integer_sequence<int, K...>);
template <class I>
using ResultShape = decltype(shape_from<I>(std::make_integer_sequence<int, I::result_type.rank>{}));
template <class I, int... K>
InnerShape<I::result_type.extent[K]...> inner_shape_from(std::integer_sequence<int, K...>);
template <class I>
using InnerResultShape = decltype(inner_shape_from<I>(std::make_integer_sequence<int, I::result_type.rank>{}));
/// The 16-bit dtype of the network in which integers stand, float32 for none.
template <class V>
inline constexpr Dtype network_half = Dtype::float32;
template <class T, Dtype half, int... E>
inline constexpr Dtype network_half<Tensor<T, HalfShape<half, E...>>> = half;
template <class T, Dtype half, int... E>
inline constexpr Dtype network_half<Traced<T, HalfShape<half, E...>>> = half;
template <Dtype half, class I, int... K>
HalfShape<half, I::result_type.extent[K]...> half_shape_from(std::integer_sequence<int, K...>);
// The shape of a result in a network; integers remember its dtype.
template <class I, class Plain, Dtype half, bool remembers = is_half_dtype(half) && !is_floating(I::result_type.dtype)>
struct ShapeIn {
  using type = Plain;
};
template <class I, class Plain, Dtype half>
struct ShapeIn<I, Plain, half, true> {
  using type = decltype(half_shape_from<half, I>(std::make_integer_sequence<int, I::result_type.rank>{}));
};
template <class... V>
constexpr Dtype half_among() {
  Dtype half = Dtype::float32;
  ((half = is_half_dtype(network_half<V>) ? network_half<V> : half), ...);
  return half;
}

template <class I>
using ResultElement = CppType<I::result_type.dtype>;

template <class T, class S>
constexpr Builder* builder_of(const Traced<T, S>& v) {
  return v.builder;
}
// parameters, numbers, tuples of outputs
template <class V>
constexpr Builder* builder_of(const V&) {
  return nullptr;
}

template <class T, class S>
constexpr int lift(Builder&, const Traced<T, S>& v) {
  return v.id;
}
template <class T>
constexpr int lift(Builder& b, const Number<T>& v) {
  if (!v.fits) b.fail(scalar_refusal(dtype_of<T>, v.bytes, v.negative));
  return b.leaf(&info<ops::Constant>, type_of<T, Shape<>>, v.bytes);
}
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

template <class V>
inline constexpr bool is_traced = false;
template <class T, class S>
inline constexpr bool is_traced<Traced<T, S>> = true;
template <class V>
inline constexpr bool is_tensor = false;
template <class T, class S>
inline constexpr bool is_tensor<Tensor<T, S>> = true;

/// The bytes of `value` in the dtype of x, for a kernel that takes it as its run-time number.
template <class X, class N>
constexpr std::uint64_t immediate_number(const X& x, N value) {
  if constexpr (is_broken<X>) return 0;
  else {
    using T = typename X::type;
    const Number<T> number(value);
    if (number.fits) return number.bytes;
    if constexpr (is_traced<X>) x.builder->fail(scalar_refusal(dtype_of<T>, number.bytes, number.negative));
    else refuse_scalar(dtype_of<T>, number.bytes, number.negative);
    return 0;
  }
}

template <class I, class... V>
constexpr auto apply_traced(const std::source_location& at, std::uint64_t immediate, const V&... v) {
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
    return Traced<ResultElement<I>, typename ShapeIn<I, ResultShape<I>, half_among<V...>()>::type>(b, id);
  }
}

template <class I>
constexpr EagerInfo describe_eager() {
  EagerInfo call{.name = I::Op::name,
                 .kernel = nullptr,
                 .rule = nullptr,
                 .single = {},
                 .result = I::result_type,
                 .size = Storage::class_of(std::size_t(I::result_type.bytes(1))),
                 .operands = I::types.count,
                 .effect = I::Op::effect,
                 .host_effect = __is_base_of(OnHost, typename I::Op),
                 .nchw16n = run_time_info<typename I::Op>.kernel.nchw16n};
  for (int k = 0; k < I::types.count; ++k)
    if (is_image(I::types.type[k])) call.features[k] = I::types.type[k].count(1);
  if constexpr (!I::Op::view) call.kernel = &kernel_entry<CallOf<I>>, call.single = kernel_work<CallOf<I>>(1);
  if constexpr (several_targets || observable) call.types = &I::types;
  if constexpr (observable) call.seen = {&run_time_info<typename I::Op>, &I::attributes};
  if constexpr (!I::Op::effect && is_floating(I::result_type.dtype)) call.rule = &eager::RuleOf<I>::rule;
  return call;
}
template <class I>
inline constexpr EagerInfo eager_info = describe_eager<I>();

// The function that runs a call.
template <class I>
constexpr auto* eager_runner() {
  bool images = false, batch = I::result_type.batched();
  for (int k = 0; k < I::types.count; ++k) images |= is_image(I::types.type[k]), batch |= I::types.type[k].batched();
  const KernelWork& work = eager_info<I>.single;
  if (images) return &run_image_call;
  return batch || I::Op::view || I::Op::effect || work.workspace || work.items * work.cost > cost_per_thread
             ? &run_call
             : &run_small_call;
}
// The operand that has the batch size of the result, -1: none has one.
template <class I>
constexpr int batched_operand() {
  for (int k = 0; I::result_type.batched() && k < I::types.count; ++k)
    if (I::types.type[k].batched()) return k;
  return -1;
}

// A function per runner: a call of an operator has neither a handler of its own, nor its place as numbers.
template <auto* run>
[[gnu::noinline]] void run_eager([[maybe_unused]] std::source_location at, const EagerInfo& call,
                                 const EagerOperand* operand, std::uint64_t immediate, Storage& result,
                                 TapeVariable& variable) {
  try {
    if constexpr (observable)
      if (Observation* const innermost = observation())
        return run_observed(*innermost, run, call, at, operand, immediate, result, variable);
    run(call, operand, immediate, result, variable);
  } catch (const OutOfMemory& error) {
    // the line of the cell's call, unless observers want that of the operator's: nothing else hands it this far down
    if constexpr (observable) refuse_call(error, call, at);
    else refuse_call(error, call, {});
  }
}
// A function of its own, so that the result is made where the caller wants it.
template <class I, class Result>
[[gnu::always_inline]] inline Result eager_result(const std::source_location& at, std::uint64_t immediate,
                                                  const EagerOperand* operand) {
  constexpr int batched = batched_operand<I>();  // a mean over the batch has no batch size
  Result result(Storage(), batched < 0 ? 1 : operand[batched < 0 ? 0 : batched].n);
  run_eager<eager_runner<I>()>(at, eager_info<I>, operand, immediate, result.storage(), result.variable);
  return result;
}
template <class I, class... V>
[[gnu::always_inline]] inline auto apply_eager(const std::source_location& at, std::uint64_t immediate, const V&... v) {
  if constexpr (!I::ok) {
    using Wrong = Mistake<I>;
    return Wrong::corrected;
  } else {
    const EagerOperand operand[]{v...};
    if constexpr (HasIndices<typename I::Op>) look_at_indices(eager_info<I>, I::types, operand);
    if constexpr (LimitsBatch<typename I::Op>) {
      static constexpr LeastBatch least = I::Op::least_batch(I::types);
      if constexpr (least.n > 1) refuse_small_batch(least, operand, I::types.count);
    }
    if constexpr (I::Op::effect) {
      Storage none;
      TapeVariable no_variable;
      run_eager<eager_runner<I>()>(at, eager_info<I>, operand, immediate, none, no_variable);
    } else {
      using Plain = std::conditional_t<(is_inner<V> || ...), InnerResultShape<I>, ResultShape<I>>;
      return eager_result<I, Tensor<ResultElement<I>, typename ShapeIn<I, Plain, half_among<V...>()>::type>>(
          at, immediate, operand);
    }
  }
}

/// A float32 parameter in a 16-bit dtype; other operands as they are. `b` is the trace, if there is one.
template <Dtype half, bool traced, class V, class Cast = ops::Cast>
constexpr decltype(auto) beside_half(const std::source_location& at, [[maybe_unused]] Builder* b, const V& operand) {
  if constexpr (!is_float_parameter<V>) return (operand);
  else {
    using I = Inference<Cast, typename Cast::Config{half}, typename KeyFor<V>::type>;
    if constexpr (traced) {
      b->location = at;
      const int parameter[]{lift(*b, operand)};
      return Traced<CppType<half>, ResultShape<I>>(b,
                                                   b->call(&info<Cast>, parameter, 1, I::attributes, I::result_type));
    } else return apply_eager<I>(at, 0, operand);
  }
}

}  // namespace detail

namespace detail {
/// Whether a call on tensors is right, and the sentence if it is not. Errors of a trace are reported by the code that
/// traces.
template <bool on_tensors, class Op, auto Config, class... V>
struct CheckedCall {
  static constexpr bool ok = true;
};
template <class Op, auto Config, class... V>
struct CheckedCall<true, Op, Config, V...>
    : Inference<Op, Config, typename KeyBeside<parameters_as<Op, V...>(), V>::type...> {};
template <class Op, auto Config, class... V>
using EagerCall = CheckedCall<(is_tensor<V> || ...) && !((is_traced<V> || is_broken<V>) || ...), Op, Config, V...>;
}  // namespace detail

/// Calls operator Op on operands: adds a node to the graph being traced, or runs the kernel at once.
///
/// Config     the operator's settings, a value of Op::Config
/// operands   Tensor, Traced, Parameter, Number; at least one is no Parameter and no Number. Beside 16-bit floats a
///            float32 parameter is cast to their dtype, so that gradients reach it in float32
/// immediate  a run-time number for the kernel, such as the key of a random stream
template <class Op, auto Config = typename Op::Config{}, class... V>
constexpr auto apply_with(const std::source_location& at, std::uint64_t immediate, const V&... operands) {
  if constexpr ((is_broken<V> || ...)) {
    Builder* b = nullptr;
    ((b = b ? b : [](const auto& v) -> Builder* {
       if constexpr (requires { v.builder; }) return v.builder;
       else return nullptr;
     }(operands)),
     ...);
    return Broken(b);
  } else {
    static_assert(((detail::is_traced<V> || detail::is_tensor<V>) || ...),
                  "an operator needs at least one operand that is not a parameter or a number: bring a parameter in by "
                  "value_in(x, parameter)");
    static_assert(!((detail::is_traced<V> || ...) && (detail::is_tensor<V> || ...)),
                  "a tensor with values cannot be used while a graph is traced: pass it in as an argument, or make it "
                  "a parameter of the cell");
    constexpr bool traced = (detail::is_traced<V> || ...);
    constexpr Dtype half = detail::parameters_as<Op, V...>();
    if constexpr (is_half_dtype(half)) {
      [[maybe_unused]] Builder* b = nullptr;
      if constexpr (traced) ((b = b ? b : detail::builder_of(operands)), ...);
      return apply_with<Op, Config>(at, immediate, detail::beside_half<half, traced>(at, b, operands)...);
    } else {
      using I = detail::Inference<Op, Config, typename detail::KeyFor<V>::type...>;
      if constexpr (traced) return detail::apply_traced<I>(at, immediate, operands...);
      else return detail::apply_eager<I>(at, immediate, operands...);
    }
  }
}
template <class Op, auto Config = typename Op::Config{}, class... V>
constexpr auto apply(const std::source_location& at, const V&... operands) {
  using Call = detail::EagerCall<Op, Config, V...>;
  if constexpr (Call::ok) return apply_with<Op, Config>(at, 0, operands...);
  else {  // here and not one call deeper: compilers print a line or three for each
    using Wrong = Mistake<Call>;
    return Wrong::corrected;
  }
}

}  // namespace tenon
