// Base of element-wise operators: from one function `eval` come shape rule, broadcasting, kernel, fusion, and folding.
#pragma once
#include <tenon/call/apply.hpp>
#include <tenon/ops/fused.hpp>
#include <tenon/ops/sum_to.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Right-aligned broadcast of two shapes, as in NumPy. Returns false if an axis has two sizes, neither of them 1
/// (result: rank 0), or if n would be at another place than the leading extent: [n,1] and [n] would combine each sample
/// with all others.
constexpr bool broadcast(const TensorType& a, const TensorType& b, TensorType& result) {
  result = a.rank >= b.rank ? a : b;
  const TensorType& low = a.rank >= b.rank ? b : a;
  for (int axis = result.rank - low.rank; axis < result.rank; ++axis) {
    const int other = low.extent[axis - (result.rank - low.rank)];
    if (result.extent[axis] == 1) result.extent[axis] = other;
    else if (other != 1 && other != result.extent[axis]) return result.rank = 0, false;
  }
  return tenon::detail::only_first_is_dynamic(result);
}

TENON_EXACT_BEGIN
/// Base of an operator whose result element depends on the operands' elements at the same (broadcast) position.
///
/// `Op` gives `template <class V> static V eval(V x)` with one argument per operand; V is float, double, or an integer.
/// Every call rounds once to the result's dtype, also inside a fused kernel.
template <class Op, FixedString Name>
struct Elementwise : Operator<Op, Name> {
  static constexpr bool elementwise = true, per_sample = true;

  static constexpr TensorType shape(const OperandTypes& in, const typename Operator<Op, Name>::Config&,
                                    Sentence& error) {
    TensorType result = in[0];
    for (int k = 1; k < in.count; ++k) {
      if (in[k].dtype != in[0].dtype)
        error << Op::name << " of " << name_of(in[0]) << " " << in[0] << " and " << name_of(in[k]) << " " << in[k]
              << ": cast one of them, dtypes must agree";
      else if (TensorType wider; broadcast(result, in[k], wider)) result = wider;
      else refuse_shapes(in[0], in[k], wider, error);
      if (!error.empty()) break;
    }
    if (error.empty()) check_dtype(in[0], error);
    result.dtype = in[0].dtype;
    if constexpr (requires { Op::result_dtype(in[0].dtype); }) result.dtype = Op::result_dtype(in[0].dtype);
    return result;
  }
  /// A member `floating_only`, `numbers_only`, or `bool_only` of Op limits the dtypes; without it every dtype is
  /// accepted.
  static constexpr void check_dtype(const TensorType& t, Sentence& error) {
    const auto refuse = [&](std::string_view wanted) {
      error << Op::name << " needs " << wanted << ", got " << name_of(t) << " " << t << ": cast it";
    };
    if constexpr (requires { requires tenon::detail::is_set(Op::floating_only); }) {
      if (!is_floating(t.dtype)) refuse("floating-point operands");
    } else if constexpr (requires { requires tenon::detail::is_set(Op::numbers_only); }) {
      if (t.dtype == Dtype::bool_) refuse("operands that are numbers");
    } else if constexpr (requires { requires tenon::detail::is_set(Op::bool_only); }) {
      if (t.dtype != Dtype::bool_) refuse("bool operands");
    }
  }
  // Inlined by force: clang leaves an eval of some length as a call, and then its loop is none of vectors.
  template <class... V>
  [[gnu::always_inline]] static constexpr auto evaluate(V... v) {
#if defined(__clang__)
    [[clang::always_inline]]
#endif
    return Op::eval(static_cast<Compute<V>>(v)...);
  }
  struct Function {
    using Of = Op;
    template <class... V>
    [[gnu::always_inline]] constexpr auto operator()(V... v) const {
      return evaluate(v...);
    }
  };

 private:
  static constexpr void refuse_shapes(const TensorType& a, const TensorType& b, const TensorType& wider,
                                      Sentence& error) {
    error << Op::name << " of " << a << " and " << b;
    if (tenon::detail::only_first_is_dynamic(wider)) error << ": the shapes do not broadcast";
    else
      error << " would be " << wider
            << ": only the leading extent can depend on n; give both the same rank, with expand_dims or squeeze";
  }
  static constexpr std::string_view name_of(const TensorType& t) { return tenon::name(t.dtype); }
};
TENON_EXACT_END

}  // namespace tenon::ops

// Every derivative adds and sums: nvcc and clang want these complete where one is written.
#include <tenon/ops/accumulate.hpp>
