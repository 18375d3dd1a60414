// Element-wise operators, dropout, pooling, and the loss in a kernel per sample.
#pragma once
#include <tenon/backend/cuda/dropout.hpp>
#include <tenon/backend/cuda/elementwise.hpp>
#include <tenon/backend/cuda/loss/softmax_cross_entropy.hpp>
#include <tenon/backend/cuda/pool/pool2d.hpp>
#include <tenon/backend/cuda/reduce/reduction.hpp>
#include <tenon/backend/cuda/sample/work.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI::kernel::cuda {

struct BroadcastElement {
  template <class C, int K>
  __device__ static auto operand(const Arguments& a, long i) {
    constexpr Affine place = broadcast_from(C::result, C::operand(K));
    return a.template operand<typename C::template Operand<K>>(K)[place.offset(i, 1)];
  }
  template <class C>
  __device__ static void at(const Arguments& a, long i) {
    [&]<int... K>(std::integer_sequence<int, K...>) {
      a.template result<typename C::Result>()[i] = element_of<C>(operand<C, K>(a, i)...);
    }(std::make_integer_sequence<int, C::operands>());
  }
};
template <class Op>
requires(Op::elementwise && requires { typename Op::Function; })
struct SampleWork<Op> : SampleElements<BroadcastElement> {};
template <>
struct SampleWork<ops::Fused> : SampleElements<BroadcastElement> {};

template <>
struct SampleWork<ops::MaxPool2d> : SampleElements<MaxPoolElement> {};
template <>
struct SampleWork<ops::MaxPool2dGrad> : SampleElements<MaxPoolGradientElement> {
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which) {
    constexpr Pool2dSizes s = PoolKernel<MaxPoolGradient, true>::one_sample<C>;
    constexpr bool cover = s.kh == s.stride_h && s.kw == s.stride_w && s.pad_top == 0 && s.pad_left == 0 &&
                           s.oh * s.kh == s.h && s.ow * s.kw == s.w;
    if constexpr (cover)
      each_of_sample<s.planes * s.oh * s.ow>(which, [&](int i) { MaxPoolGradientElement::window<C>(a, i); });
    else SampleElements<MaxPoolGradientElement>::sample<C>(a, which);
  }
};
template <>
struct SampleWork<ops::AvgPool2d> : SampleElements<AvgPoolElement> {
  template <class C>
  static constexpr SampleRole role() {
    constexpr bool large = kernel::detail::is_large(PoolKernel<AvgPool<false>, false>::one_sample<C>);
    return large ? SampleRole::none : SampleElements<AvgPoolElement>::role<C>();
  }
};
template <>
struct SampleWork<ops::AvgPool2dGrad> : SampleElements<AvgPoolGradientElement> {};

/// It divides by a number of elements that may depend on n.
template <>
struct SampleWork<ops::ReduceMeanGrad> : SampleElements<MeanGradient> {
  template <class C>
  __device__ static void sample(Arguments a, SampleOfBatch which) {
    a.n = which.n;
    SampleElements<MeanGradient>::sample<C>(a, which);
  }
};

/// Each element has its word, the same as in the batch.
template <>
struct SampleWork<ops::Dropout> {
  template <class C>
  static constexpr SampleRole role() {
    return C::result.batched() ? SampleRole::sample : SampleRole::none;
  }
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which) {
    using T = typename C::Result;
    using V = Compute<T>;
    constexpr long count = result_count<C>(1);
    const float rate = dropout_rate<C>(a);
    const V scale = V(1) / (V(1) - V(rate));
    const std::uint32_t dropped = dropped_words(rate);
    const std::uint64_t* const state = dropout_state<C>(a);
    const std::uint64_t key = hash_number(a.immediate, state[0]), step = state[1];
    each_of_sample<count>(which, [&](int i) {
      const long all = which.sample * count + i, group = all / math::random_group;
      const int place = int(all % math::random_group);
      const Philox4 drawn =
          philox(key, static_cast<std::uint64_t>(group * math::random_lanes + place % math::random_lanes), step);
      const int k = place / math::random_lanes;
      const std::uint32_t word = k == 0   ? drawn.word[0]
                                 : k == 1 ? drawn.word[1]
                                 : k == 2 ? drawn.word[2]
                                          : drawn.word[3];
      const T scaled = static_cast<T>(static_cast<V>(a.operand<T>(0)[i]) * scale);
      a.result<T>()[i] = (word >> 8) >= dropped ? scaled : T{};
    });
  }
};

/// The loss of one row of logits, and its gradient: the first warp does it.
template <template <class> class Body>
struct SampleLoss {
  template <class C>
  static constexpr SampleRole role() {
    constexpr bool fits = C::operand(0).rank == 2 && C::operand(0).extent[0] == dyn && Body<C>::Team::parts == 1;
    return fits ? SampleRole::sample : SampleRole::none;
  }
  template <class C>
  __device__ static void sample(const Arguments& a, SampleOfBatch which) {
    if (which.thread < warp) Body<C>::of_row(a, typename Body<C>::Team(OfBlock{which.thread}));
  }
};
template <>
struct SampleWork<ops::SoftmaxCrossEntropy> : SampleLoss<CrossEntropy> {};
template <>
struct SampleWork<ops::SoftmaxCrossEntropyGrad> : SampleLoss<CrossEntropyGrad> {};

}  // namespace tenon::kernel::cuda
TENON_EXACT_END
