// How an operator that draws random numbers is called, in both modes.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
/// Seed and step of the current eager training step, or of the thread outside of one.
inline Tensor<std::uint64_t, Shape<2>> current_random_state() {
  const std::uint64_t* now = eager::Frame::of_thread().random_state;
  if (!now) now = eager::Frame::free_random_state();
  Tensor<std::uint64_t, Shape<2>> state = Tensor<std::uint64_t, Shape<2>>::empty();
  state.data()[0] = now[0];
  state.data()[1] = now[1];
  return state;
}
}  // namespace detail

/// Calls Op on (x, operands..., random state): the state [2] of uint64 holds seed and step, and the kernel's immediate
/// is the stream, which names the cell and counts its random calls in the step. Both modes derive the same three
/// numbers.
template <class Op, auto Config = typename Op::Config{}, Operand X, class... V>
constexpr auto random_call(const std::source_location& at, const X& x, const V&... operands) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (tenon::detail::is_traced<X>) {
    Builder& b = *x.builder;
    const std::uint64_t stream = b.stream(at);
    return apply_with<Op, Config>(at, stream, x, operands..., Traced<std::uint64_t, Shape<2>>(&b, b.random_state()));
  } else {
    return apply_with<Op, Config>(at, eager::Frame::of_thread().stream(at), x, operands...,
                                  detail::current_random_state());
  }
}

}  // namespace tenon::ops
