// The types of a call's operands and results, worked out once per combination of shapes.
#pragma once
#include <tenon/call/call.hpp>
#include <tenon/call/inner.hpp>
#include <tenon/core/text/report.hpp>
#include <tenon/graph/ir/traced.hpp>

namespace tenon::inline TENON_ABI::detail {

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

/// The number of operands that the eval of an element-wise operator takes, if it is not that of the types V; else 0.
template <class Op, class... V>
constexpr int wrong_operand_count() {
  if constexpr (!Op::elementwise || requires { Op::eval(V()...); }) return 0;
  else {
    using First = std::tuple_element_t<0, std::tuple<V..., float>>;
    return []<std::size_t... I>(std::index_sequence<I...>) {
      const auto takes = []<std::size_t... K>(std::index_sequence<K...>) {
        return requires { Op::eval((void(K), First())...); };
      };
      int found = 0;
      ((found = found == 0 && takes(std::make_index_sequence<I + 1>()) ? int(I) + 1 : found), ...);
      return found == int(sizeof...(V)) ? 0 : found;
    }(std::make_index_sequence<max_operands>());
  }
}

/// Result type and kernel of a call, worked out once per combination of shapes.
template <class Operator, auto Config, class... Keys>
struct Inference {
  using Op = Operator;
  static constexpr OperandTypes types{{Keys::value...}, int(sizeof...(Keys))};
  static constexpr Attributes attributes = pack<typename Op::Config>(Config);
  struct Result {
    ResultTypes types = TensorType{};
    Sentence error;
  };
  // Operator by operator, a result gets its batch size from an operand; a graph would know it.
  static constexpr void refuse_unknown_batch(Result& r) {
    for (int k = 0; k < types.count; ++k)
      if (types[k].batched()) return;
    for (int k = 0; k < r.types.count; ++k)
      if (r.types[k].batched())
        r.error << Op::name << " of " << types[0] << " to " << r.types[k] << " does not know n: no operand has it";
  }
  static constexpr Result infer() {
    Result r;
    if constexpr (!tenon::detail::RunsOnCpu<Op>)
      r.error
          << Op::name
          << " has no kernel on the CPU: write `items` and `run` in the operator, or include its Kernel<Cpu, ...> in "
             "backend/cpu/kernels.hpp";
    else if constexpr (constexpr int takes = wrong_operand_count<Op, Compute<typename Keys::type>...>(); takes > 0)
      r.error << Op::name << " takes " << takes << (takes == 1 ? " operand" : " operands") << ", got " << types.count;
    else if constexpr (tenon::detail::DeclaresDerivative<Op>) r.types = Op::shape(types, Config, r.error);
    else
      r.error << Op::name
              << " declares no derivative: write `static constexpr void derivative(Derivative&)` or `static constexpr "
                 "None derivative{};`";
    if (r.error.empty() && !Op::effect) refuse_unknown_batch(r);
    if (!r.error.empty())  // a shape that is wrong itself: nothing else is said of it
      for (int k = 0; k < types.count; ++k)
        if (!only_first_is_dynamic(types[k]))
          r.error = Sentence{} << "only the leading extent of a Shape can be dynamic";
    return r;
  }
  static constexpr Result inferred = infer();
  static constexpr const Sentence& sentence = inferred.error;
  static constexpr bool ok = inferred.error.empty();
  static constexpr ResultTypes results = inferred.types;
  static constexpr TensorType result_type = results[0];
  /// Results that the caller gets.
  static constexpr int returns = Op::returns;
  static constexpr KernelKey value =
      kernel_key(&info<Op>, result_type, types.type, types.count, attributes, nullptr, 0, (1 << returns) - 2);
  static_assert(
      !ok || (returns <= results.count && types.count + results.count <= max_buffers),
      "an operator returns no more results than its shape rule names; operands and results are at most eight");
  static_assert(!ok || results.count == 1 || (!Op::effect && !Op::elementwise),
                "an operator with several results has no effect and is not element-wise");
};
/// A result of a call in the place of its first.
template <class I, int k>
struct ResultAt {
  static constexpr TensorType result_type = I::results[k];
};
/// The same call, which also computes the results `more` (bits) that no caller gets.
template <class I, unsigned more>
struct KeepingCall {
  static constexpr KernelKey value = kernel_key(&info<typename I::Op>, I::result_type, I::types.type, I::types.count,
                                                I::attributes, nullptr, 0, ((1 << I::returns) - 2) | int(more));
};

#if defined(__CUDACC__)
// nvcc writes a type as it first found it, and cannot write what has a value of class type, as I has: so extents come
// from sizes of arrays, which are numbers to it.
template <std::size_t size>
struct ArraySize {};
template <std::size_t size>
ArraySize<size> array_size(char (*)[size]);
inline constexpr long no_extent = 1l << 24;  // an extent of a multiple of n is negative; a size is an int to nvcc
template <template <int...> class S, std::size_t... size>
S<int(long(size) - no_extent)...> shape_from_sizes(ArraySize<size>...);
template <template <int...> class S, class I, int... K>
auto shape_from(std::integer_sequence<int, K...>) -> decltype(shape_from_sizes<S>(
    array_size(static_cast<char (*)[no_extent + I::result_type.extent[K]]>(nullptr))...));
template <class S>
struct Written;  // a type without the words that found it
template <template <int...> class S, int... E>
struct Written<S<E...>> {
  using type = S<E...>;
};
template <Dtype half, int... E>
struct Written<HalfShape<half, E...>> {
  using type = HalfShape<half, E...>;
};
template <template <int...> class S, class I>
using ShapeOf =
    typename Written<decltype(shape_from<S, I>(std::make_integer_sequence<int, I::result_type.rank>{}))>::type;
#else
template <template <int...> class S, class I, int... K>
S<I::result_type.extent[K]...> shape_from(std::integer_sequence<int, K...>);
template <template <int...> class S, class I>
using ShapeOf = decltype(shape_from<S, I>(std::make_integer_sequence<int, I::result_type.rank>{}));
#endif
template <class I>
using ResultShape = ShapeOf<Shape, I>;
template <class I>
using InnerResultShape = ShapeOf<InnerShape, I>;
/// The 16-bit dtype of the network in which integers stand, float32 for none.
template <class V>
inline constexpr Dtype network_half = Dtype::float32;
template <class T, Dtype half, int... E>
inline constexpr Dtype network_half<Tensor<T, HalfShape<half, E...>>> = half;
template <class T, Dtype half, int... E>
inline constexpr Dtype network_half<Traced<T, HalfShape<half, E...>>> = half;
template <Dtype half>
struct HalfShapes {
  template <int... E>
  using type = HalfShape<half, E...>;
};
// The shape of a result in a network; integers remember its dtype.
template <class I, class Plain, Dtype half, bool remembers = is_half_dtype(half) && !is_floating(I::result_type.dtype)>
struct ShapeIn {
  using type = Plain;
};
template <class I, class Plain, Dtype half>
struct ShapeIn<I, Plain, half, true> {
  using type = ShapeOf<HalfShapes<half>::template type, I>;
};
template <class... V>
constexpr Dtype half_among() {
  Dtype half = Dtype::float32;
  ((half = is_half_dtype(network_half<V>) ? network_half<V> : half), ...);
  return half;
}

template <class I>
using ResultElement = CppType<I::result_type.dtype>;

}  // namespace tenon::detail
