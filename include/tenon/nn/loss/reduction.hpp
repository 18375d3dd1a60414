// How a loss is reduced to one number.
#pragma once
#include <tenon/ops/reduce_mean.hpp>
#include <tenon/ops/reduce_sum.hpp>

namespace tenon::inline TENON_ABI::nn {

/// mean and sum give a number, none gives the losses of the samples (a Model then sums their gradients; it warns about
/// a loss with further axes). The default everywhere is mean; MindSpore's softmax cross entropy defaults to none, which
/// trains with a learning rate that depends on the batch.
enum class Reduction { mean, sum, none };

template <Reduction reduction, class X>
constexpr auto reduced(const X& x) {
  if constexpr (reduction == Reduction::mean) return ops::reduce_mean(x);
  else if constexpr (reduction == Reduction::sum) return ops::reduce_sum(x);
  else return x;
}

}  // namespace tenon::nn
