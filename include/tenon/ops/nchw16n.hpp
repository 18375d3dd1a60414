// The operators that the layout pass inserts: images into NCHW16n, and back.
#pragma once
#include <cstring>

#include <tenon/eager/apply.hpp>
#include <tenon/kernel/cpu/nchw16n/layout.hpp>

namespace tenon::inline TENON_ABI::ops {

namespace detail {
// What both conversions share. Batches that do not fill blocks stay row-major and are copied.
template <class Op, FixedString Name>
struct ChangeLayout : Operator<Op, Name> {
  static constexpr Nchw16n nchw16n = Nchw16n::wants;
  static constexpr bool per_sample = true;
  static constexpr None derivative{};
  static constexpr TensorType shape(const OperandTypes& in, const NoConfig&, Sentence&) { return in[0]; }
  template <class Call>
  static constexpr long items(long n) {
    return n;
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    constexpr long features = Call::result.count(1);
    std::memcpy(a.result<float>() + begin * features, a.operand<float>(0) + begin * features,
                std::size_t((end - begin) * features) * sizeof(float));
  }
  template <class Call>
  static constexpr KernelWork nchw16n_work(long n) {
    return {whole_blocks(n) / block_samples, Call::result.count(1) * block_samples / 4 + 1, 0};
  }
};
}  // namespace detail

/// An image into NCHW16n. Only graphs contain it.
struct ToNchw16n : detail::ChangeLayout<ToNchw16n, "ToNchw16n"> {
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::pack_samples(a.operand<float>(0), a.result<float>(), a.n, Call::result.count(1), begin, end);
  }
};
/// An image from NCHW16n. Only graphs contain it.
struct FromNchw16n : detail::ChangeLayout<FromNchw16n, "FromNchw16n"> {
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    kernel::unpack_samples(a.operand<float>(0), a.result<float>(), a.n, Call::result.count(1), begin, end);
  }
};

}  // namespace tenon::ops
