// apply<Op>: the one door through which every operator call goes, in both modes.
#pragma once
#include <tuple>

#include <tenon/call/call.hpp>
#include <tenon/call/frame.hpp>
#include <tenon/call/inference.hpp>
#include <tenon/call/inner.hpp>
#include <tenon/call/observed.hpp>
#include <tenon/call/refuse_call.hpp>
#include <tenon/core/text/report.hpp>
#include <tenon/graph/ir/traced.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Cast;
struct Reshape;
}

namespace detail {

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
  b.nodes[std::size_t(view)].parameter_view = true;
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

/// What a call returns that has failed, or follows one.
template <class Op>
constexpr auto broken_results(Builder* b) {
  if constexpr (Op::returns == 1) return Broken(b);
  else
    return [b]<std::size_t... K>(std::index_sequence<K...>) {
      return std::tuple{(void(K), Broken(b))...};
    }(std::make_index_sequence<std::size_t(Op::returns)>());
}
template <class I, Dtype half>
using TracedResult = Traced<ResultElement<I>, typename ShapeIn<I, ResultShape<I>, half>::type>;
template <class I, class... V>
constexpr auto apply_traced(const std::source_location& at, std::uint64_t immediate, const V&... v) {
  Builder* b = nullptr;
  ((b = b ? b : builder_of(v)), ...);
  b->location = at;
  if constexpr (!I::ok) {
    b->fail(I::sentence);
    return broken_results<typename I::Op>(b);
  } else {
    const int operand[]{lift(*b, v)...};
    b->location = at;
    const int id = b->call(&info<typename I::Op>, operand, int(sizeof...(V)), I::attributes, I::result_type, immediate);
    if constexpr (I::returns == 1) return TracedResult<I, half_among<V...>()>(b, id);
    else
      return [&]<int... K>(std::integer_sequence<int, K...>) {
        return std::tuple{TracedResult<ResultAt<I, K>, half_among<V...>()>(b, b->result(id, K))...};
      }(std::make_integer_sequence<int, I::returns>());
  }
}

// The results of a call that the derivative reads although no caller gets them, as bits.
template <class I>
constexpr unsigned hidden_results() {
  if constexpr (I::Op::effect || eager::all_gradients<I>() == 0) return 0;
  else return eager::RuleOf<I>::rule.keeps >> I::types.count & ((1u << I::results.count) - (1u << I::returns));
}
template <class I>
constexpr SeveralResults describe_several() {
  SeveralResults several{I::results, I::returns, eager::all_gradients<I>(), nullptr, hidden_results<I>()};
  if constexpr (hidden_results<I>() != 0) several.keeping = &kernel_entry<CallOf<KeepingCall<I, hidden_results<I>()>>>;
  return several;
}
template <class I>
inline constexpr SeveralResults several_results = describe_several<I>();

template <class I>
constexpr bool has_rule =
    !I::Op::effect && !requires { requires I::Op::stops_gradient; } && eager::all_gradients<I>() != 0;
template <class I>
constexpr bool has_right_rule() {
  if constexpr (has_rule<I>) return eager::RuleOf<I>::sentence.empty();
  else return true;
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
  if constexpr (!I::Op::view) call.kernel = &kernel_entry<CallOf<I>>, call.single = kernel_entry<CallOf<I>>.work(1);
  if constexpr (several_targets || observable) call.types = &I::types;
  if constexpr (observable) call.seen = {&run_time_info<typename I::Op>, &I::attributes};
  if constexpr (has_rule<I>) call.rule = &eager::RuleOf<I>::rule;
  if constexpr (I::results.count > 1) call.several = &several_results<I>;
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
  if (I::results.count > 1) return &run_several;
  if (images) return &run_image_call;
  return batch || I::Op::view || I::Op::effect || work.workspace || work.items * work.cost > cost_per_thread
             ? &run_call
             : &run_small_call;
}
// The operand that has the batch size of the result, -1: none has one.
template <class I>
constexpr int batched_operand(int result = 0) {
  for (int k = 0; I::results[result].batched() && k < I::types.count; ++k)
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
template <class I, bool inner>
using PlainShape = std::conditional_t<inner, InnerResultShape<I>, ResultShape<I>>;
template <class I, bool inner, Dtype half>
using EagerResult = Tensor<ResultElement<I>, typename ShapeIn<I, PlainShape<I, inner>, half>::type>;
// A function of its own, so that the result is made where the caller wants it.
template <class I, class Result>
[[gnu::always_inline]] inline Result eager_result(const std::source_location& at, std::uint64_t immediate,
                                                  const EagerOperand* operand) {
  constexpr int batched = batched_operand<I>();  // a mean over the batch has no batch size
  Result result(Storage(), batched < 0 ? 1 : operand[batched < 0 ? 0 : batched].n);
  run_eager<eager_runner<I>()>(at, eager_info<I>, operand, immediate, result.storage(), result.variable);
  return result;
}
// The same for several results.
template <class I, class... Result>
std::tuple<Result...> eager_results(const std::source_location& at, std::uint64_t immediate,
                                    const EagerOperand* operand) {
  Storage made[sizeof...(Result)];
  TapeVariable variable[sizeof...(Result)];
  run_eager<eager_runner<I>()>(at, eager_info<I>, operand, immediate, made[0], variable[0]);
  int k = 0;
  const auto take = [&]<class R>(std::type_identity<R>) {
    const int batched = batched_operand<I>(k);
    R result(std::move(made[k]), batched < 0 ? 1 : operand[batched].n);
    result.variable = variable[k++];
    return result;
  };
  return {take(std::type_identity<Result>())...};
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
      constexpr bool inner = (is_inner<V> || ...);
      if constexpr (I::returns == 1)
        return eager_result<I, EagerResult<I, inner, half_among<V...>()>>(at, immediate, operand);
      else
        return [&]<int... K>(std::integer_sequence<int, K...>) {
          return eager_results<I, EagerResult<ResultAt<I, K>, inner, half_among<V...>()>...>(at, immediate, operand);
        }(std::make_integer_sequence<int, I::returns>());
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
    return detail::broken_results<Op>(b);
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
      else {
        if constexpr (I::ok && !detail::has_right_rule<I>()) {
          using Wrong = Mistake<eager::RuleOf<I>>;
          Wrong::corrected();  // no return: the call has the type of a right one, so that nothing else is reported
        }
        return detail::apply_eager<I>(at, immediate, operands...);
      }
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
