// Gradients of the tape against central differences, in double.
#pragma once
#include <doctest/doctest.h>

#include <tenon/debug/check_gradients.hpp>

#include "tensors.hpp"

namespace support {

/// tenon::check_gradients as a check of doctest.
template <class F, class... X>
void check_gradients_within(double tolerance, const F& f, const X&... x) {
  CHECK_NOTHROW(tenon::check_gradients(tenon::GradientCheck{.tolerance = tolerance}, f, x...));
}
template <class F, class... X>
void check_gradients(const F& f, const X&... x) {
  CHECK_NOTHROW(tenon::check_gradients(f, x...));
}

}  // namespace support
