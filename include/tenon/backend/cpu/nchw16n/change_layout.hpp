// Images into NCHW16n, and back: the kernels of the operators that the layout pass inserts.
#pragma once
#include <cstring>

#include <tenon/backend/cpu/nchw16n/layout.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct ToNchw16n;
struct FromNchw16n;
}  // namespace ops

namespace kernel {
/// What both conversions share. Batches that do not fill blocks stay row-major and are copied.
struct ChangeLayout {
  static constexpr KernelFacts facts{.nchw16n = Nchw16n::wants};
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
}  // namespace kernel

template <>
struct Kernel<Cpu, ops::ToNchw16n> : kernel::ChangeLayout {
  /// The blocks [begin, end) of rows of `features`; of a tensor whose shape is known at run time, too.
  static void convert(const float* x, float* y, long n, long features, long begin, long end) {
    kernel::pack_samples(x, y, n, features, begin, end);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    convert(a.operand<float>(0), a.result<float>(), a.n, Call::result.count(1), begin, end);
  }
};
template <>
struct Kernel<Cpu, ops::FromNchw16n> : kernel::ChangeLayout {
  static void convert(const float* x, float* y, long n, long features, long begin, long end) {
    kernel::unpack_samples(x, y, n, features, begin, end);
  }
  template <class Call>
  static void run_nchw16n(const Arguments& a, long begin, long end) {
    convert(a.operand<float>(0), a.result<float>(), a.n, Call::result.count(1), begin, end);
  }
};

}  // namespace tenon
