// ASGD: the loop of its update.
#pragma once
#include <tenon/backend/cpu/optimizer/moment_update.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ApplyAsgd;
}

namespace kernel {

/// One step of ASGD for `count` elements of the parameter, changed[0], and of its average. number: the common three, by
/// what the parameter shrinks, the share of the new parameter in the average.
template <>
struct UpdateLoop<ops::ApplyAsgd> {
  template <class T, auto config, class Gradient>
  static void apply(const float* number, long count, Gradient gradient, T* const* changed) {
    using C = Compute<T>;
    const UpdateNumbers<C> is(number);
    const C shrink = C(1) - C(number[3]), share = C(number[4]);
    const auto move = [=]<class V>(V g, V& p)
                          __attribute__((always_inline)) { p = p * V(shrink) - V(is.rate) * is.gradient(g, p); };
    const auto averaging = [=]<class V>(V g, V& p, V& average) __attribute__((always_inline)) {
      move(g, p);
      average = average + (p - average) * V(share);
    };
    const auto following = [=]<class V>(V g, V& p, V& average) __attribute__((always_inline)) {
      move(g, p);
      average = p;
    };
    if (share == 1) update_elements(count, following, gradient, changed[0], changed[1]);
    else update_elements(count, averaging, gradient, changed[0], changed[1]);
  }
};

}  // namespace kernel

}  // namespace tenon
TENON_EXACT_END
