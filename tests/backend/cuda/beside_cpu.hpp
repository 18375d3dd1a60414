// A function of tensors on the CPU and on the target Cuda, which must give the same bits.
#pragma once
#include <doctest/doctest.h>

#include <tenon/call/apply.hpp>
#include <tenon/core/context.hpp>

#include "../../support/both_modes.hpp"

namespace support {

/// Calls f(x...) here and on the GPU, and compares the results.
template <class F, class... X>
void check_bits(const F& f, const X&... x) {
  const tenon::FlushDenormals flush;
  const auto here = f(x...);
  const tenon::ContextScope scope({.device_target = "GPU"});
  const auto there = f(x.copy()...);
  CHECK(detail::SameThere()(here, there));
}

/// Calls f with an element of each dtype.
template <class F>
void each_dtype(F f) {
  (f(true), f(std::int8_t{1}), f(std::int16_t{1}), f(std::int32_t{1}), f(std::int64_t{1}));
  (f(std::uint8_t{1}), f(std::uint16_t{1}), f(std::uint32_t{1}), f(std::uint64_t{1}));
  (f(tenon::float16(1.0f)), f(tenon::bfloat16(1.0f)), f(1.0f), f(1.0));
}

}  // namespace support
