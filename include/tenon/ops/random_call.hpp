// How an operator that draws random numbers is called, in both modes.
#pragma once
#include <tenon/ops/elementwise.hpp>

namespace tenon::inline TENON_ABI::ops {

/// Calls Op on (x, operands..., random state): the state [2] of uint64 holds seed and step, and the kernel's immediate is
/// the stream, which names the cell, the call site, and the visit. Both modes derive the same three numbers.
template <class Op, auto Config = typename Op::Config{}, Operand X, class... V>
constexpr auto random_call(const Location& at, const X& x, const V&... operands) {
  if constexpr (is_broken<X>) return x;
  else if constexpr (tenon::detail::is_traced<X>) {
    Builder& b = *x.builder;
    const std::uint64_t stream = b.stream(at);
    return apply_with<Op, Config>(at, stream, x, operands..., Traced<std::uint64_t, Shape<2>>(&b, b.random_state()));
  } else {
    eager::Frame& frame = eager::Frame::of_thread();
    const std::uint64_t* now = frame.random_state ? frame.random_state : eager::Frame::free_random_state();
    Tensor<std::uint64_t, Shape<2>> state = Tensor<std::uint64_t, Shape<2>>::empty();
    state.data()[0] = now[0];
    state.data()[1] = now[1];
    return apply_with<Op, Config>(at, frame.stream(at), x, operands..., state);
  }
}

}  // namespace tenon::ops
