// The batch size that the arguments of a compiled function share.
#pragma once
#include <tenon/core/tensor.hpp>

namespace tenon::inline TENON_ABI::detail {

/// n of the tensors with a dynamic leading axis, 1 if there is none. Throws ValueError if they differ, or one has no
/// elements.
template <class... X>
long common_batch_size(std::string_view who, const X&... x) {
  long n = -1;
  const auto take = [&](const auto& v) {
    if (!v.storage()) throw_error<ValueError>(who, " got a tensor without elements: assign to it first.");
    if (!std::remove_cvref_t<decltype(v)>::dims.batched()) return;
    if (n >= 0 && n != v.n())
      throw_error<ValueError>(who, " got operands of batch size ", n, " and ", v.n(), ": they must agree.");
    n = v.n();
  };
  (take(x), ...);
  return n < 0 ? 1 : n;
}

}  // namespace tenon::detail
