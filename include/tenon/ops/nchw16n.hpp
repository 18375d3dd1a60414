// The operators that the layout pass inserts: images into NCHW16n, and back.
#pragma once
#include <tenon/call/apply.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
// What both conversions share. Batches that do not fill blocks stay row-major and are copied.
template <class Op, FixedString Name>
struct ChangeLayout : Operator<Op, Name> {
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
};
}  // namespace detail

/// An image into NCHW16n. Only graphs contain it.
struct ToNchw16n : detail::ChangeLayout<ToNchw16n, "ToNchw16n"> {};
/// An image from NCHW16n. Only graphs contain it.
struct FromNchw16n : detail::ChangeLayout<FromNchw16n, "FromNchw16n"> {};

}  // namespace tenon::ops
