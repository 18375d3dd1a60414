// StopGradient and Identity: the same elements again.
#pragma once
#include <cstring>

#include <tenon/backend/reference/index.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct StopGradient;
struct Identity;
}  // namespace ops

namespace kernel::reference {
/// The bytes, so that also a NaN of 16 bits stays as it is.
struct Copy : Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    std::memcpy(a.result<void>(), a.operand<void>(0), std::size_t(Call::result.bytes(a.n)));
  }
};
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::StopGradient> : kernel::reference::Copy {};
template <>
struct Kernel<Reference, ops::Identity> : kernel::reference::Copy {};

}  // namespace tenon
