// The kernels of attention and of its gradients: which rows are the heads, and what threads share.
#pragma once
#include <tenon/backend/cpu/attention/attention.hpp>
#include <tenon/core/math/elementary.hpp>
#include <tenon/graph/ir/kernel.hpp>

namespace tenon::inline TENON_ABI {

namespace ops {
struct Attention;
struct AttentionGrad;
}  // namespace ops

namespace kernel {
/// Where queries, keys, and values of a call lie: in one operand (side by side along the last axis), or in three.
template <class Call, int Others>
struct AttentionLayout {
  static constexpr bool packed = Call::operands == 1 + Others;
  static constexpr TensorType q = Call::operand(0), k = Call::operand(packed ? 0 : 1);
  static constexpr int heads = Call::config().heads;
  static constexpr long features = q.last() / (packed ? 3 : 1);
  static constexpr AttentionShape shape{q.extent[q.rank - 2], k.extent[k.rank - 2], features / heads,
                                        Call::config().causal != 0};
  static constexpr long pitch = q.last();
  static constexpr long samples(long n) { return q.count(n) / (shape.queries * pitch); }
  /// Operand `which` (query, key, value) of head number `head` of all samples.
  template <class T>
  static HeadRows<const T> rows(const Arguments& a, int which, long head) {
    const T* const base = packed ? a.operand<T>(0) + which * features : a.operand<T>(which);
    return {base + head / heads * (which ? shape.keys : shape.queries) * pitch + head % heads * shape.width, pitch};
  }
  /// The same of a tensor with the shape of the result.
  template <class T>
  static HeadRows<T> result_rows(T* base, long head) {
    return {base + head / heads * shape.queries * features + head % heads * shape.width, features};
  }
  template <class A>
  TENON_DEVICE static A scale() {
    constexpr A given = A(Call::config().scale), width = A(features / heads);
    return given != 0 ? given : A(1) / math::sqrt(width);
  }
};
}  // namespace kernel

TENON_EXACT_BEGIN
template <>
struct Kernel<Cpu, ops::Attention> {
  // A head is cut into blocks of queries; each is an item.
  template <class Call>
  static constexpr long parts() {
    return kernel::ceil_div(kernel::AttentionLayout<Call, 0>::shape.queries, kernel::detail::attention_block);
  }
  template <class Call>
  static constexpr long items(long n) {
    return kernel::AttentionLayout<Call, 0>::samples(n) * Call::config().heads * parts<Call>();
  }
  template <class Call>
  static constexpr long cost(long) {
    constexpr auto s = kernel::AttentionLayout<Call, 0>::shape;
    return kernel::detail::attention_block * s.keys * (s.width / 8 + 8);
  }
  template <class Call>
  static constexpr long workspace(long) {
    return long(
        kernel::detail::attention_scratch<typename Call::Result>(kernel::AttentionLayout<Call, 0>::shape, false).total);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using Layout = kernel::AttentionLayout<Call, 0>;
    kernel::detail::AttentionHead<T> attention(Layout::shape, Layout::template scale<Compute<T>>(), a.workspace, false);
    for (long item = begin; item < end;) {
      const long head = item / parts<Call>(), block = item % parts<Call>();
      const long last = end - item < parts<Call>() - block ? block + (end - item) : parts<Call>();
      const auto rows = [&](int which) { return Layout::template rows<T>(a, which, head); };
      attention.prepare(rows(0), rows(1), rows(2));
      attention.forward(Layout::result_rows(a.result<T>(), head), block * kernel::detail::attention_block,
                        last < parts<Call>() ? last * kernel::detail::attention_block : Layout::shape.queries);
      item += last - block;
    }
  }
};

template <>
struct Kernel<Cpu, ops::AttentionGrad> {
  template <class Call>
  static constexpr long items(long n) {
    return kernel::AttentionLayout<Call, 1>::samples(n) * Call::config().heads;
  }
  template <class Call>
  static constexpr long cost(long) {
    constexpr auto s = kernel::AttentionLayout<Call, 1>::shape;
    return s.queries * s.keys * (s.width / 3 + 16);
  }
  template <class Call>
  static constexpr long workspace(long) {
    return long(
        kernel::detail::attention_scratch<typename Call::Result>(kernel::AttentionLayout<Call, 1>::shape, true).total);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    using Layout = kernel::AttentionLayout<Call, 1>;
    constexpr auto s = Layout::shape;
    kernel::detail::AttentionHead<T> attention(s, Layout::template scale<Compute<T>>(), a.workspace, true);
    for (long head = begin; head < end; ++head) {
      const auto rows = [&](int which) { return Layout::template rows<T>(a, which, head); };
      const auto target = [&](int which) {
        const long sample = head / Layout::heads, first = which * s.keys + (which ? s.queries - s.keys : 0);
        T* const base = Layout::packed ? a.result<T>() + sample * s.queries * Layout::pitch + which * Layout::features
                                       : a.result<T>() + (sample * (s.queries + 2 * s.keys) + first) * Layout::pitch;
        return kernel::HeadRows<T>{base + head % Layout::heads * s.width, Layout::pitch};
      };
      attention.backward(rows(0), rows(1), rows(2),
                         Layout::template result_rows<const T>(a.operand<T>(Call::operands - 1), head), target(0),
                         target(1), target(2));
    }
  }
};
TENON_EXACT_END

}  // namespace tenon
