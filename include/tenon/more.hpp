// What tenon.hpp leaves out, because most programs do not use it and all would pay for it: further operators and cells,
// with their kernels, and choose().
#pragma once
#include <tenon/tenon.hpp>
// The comment keeps a formatter from changing the order: compilers print how a file came to be included.
#include <tenon/backend/more.hpp>
#include <tenon/core/choose.hpp>
#include <tenon/nn/more.hpp>
#include <tenon/ops/more.hpp>

namespace tenon::inline TENON_ABI::detail {
template <class... Arguments>
inline constexpr bool is_included<Header::more, Arguments...> = true;
}  // namespace tenon::detail
