// The loop of an operator that computes its usual operands without branches, ops::ElementwiseUsual.
#pragma once
#include <tenon/backend/cpu/elementwise/unrolled.hpp>
#include <tenon/core/dtype.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel {

/// out[i] = f(in[i]...), as map_unrolled. A block in which an operand is not usual is computed once more, one by one.
template <class Op, bool... Moves, class Result, class F, class... T>
[[gnu::always_inline]] inline void map_usual(Result* out, long count, F f, const T*... in) {
  if (count <= 0) return;
  [&](detail::Operand<Moves, T>... operand) __attribute__((always_inline)) {
    const long whole = count - count % block_length;
    for (long i = 0; i < whole; i += block_length) {
      (operand.load(i), ...);
      decltype(f(operand.one(0)...)) value[block_length];
      int others = 0;
      for (int l = 0; l < block_length; ++l) {
        value[l] = Op::eval_usual(static_cast<Compute<T>>(operand.in_block(i, l))...);
        others |= !Op::usual(static_cast<Compute<T>>(operand.in_block(i, l))...);
      }
      if (others) [[unlikely]]
        for (int l = 0; l < block_length; ++l) value[l] = f(operand.in_block(i, l)...);
      detail::store_block(value, out + i);
    }
    for (long i = whole; i < count; ++i) out[i] = static_cast<Result>(f(operand.one(i)...));
  }(detail::Operand<Moves, T>{in, {static_cast<typename detail::Operand<Moves, T>::Kept>(in[0])}}...);
}

}  // namespace tenon::kernel
TENON_EXACT_END
