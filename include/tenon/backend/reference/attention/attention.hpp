// Attention: each query by the softmax of its scores, and the derivative of that; no block, no packing, all in double.
#pragma once
#include <cmath>
#include <vector>

#include <tenon/backend/reference/reduce/softmax.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct Attention;
struct AttentionGrad;
}  // namespace ops

namespace kernel::reference {
/// One head of one sample. Queries, keys, and values are the thirds of each row of operand 0, or the operands 0, 1, 2.
template <class Call, bool gradient>
struct Head {
  using T = typename Call::Result;
  static constexpr bool packed = Call::operands == (gradient ? 2 : 1);
  static constexpr TensorType q = Call::operand(0), k = Call::operand(packed ? 0 : 1);
  static constexpr int heads = Call::config().heads;
  static constexpr long queries = q[q.rank - 2], keys = k[k.rank - 2], pitch = q.last(),
                        features = pitch / (packed ? 3 : 1), width = features / heads;
  static constexpr long samples(long n) { return q.count(n) / (queries * pitch); }

  const Arguments& a;
  long sample, head;
  double scale = Call::config().scale != 0 ? static_cast<double>(Call::config().scale) : 1 / std::sqrt(double(width));

  /// Feature d of row t of query, key, or value (part 0, 1, 2).
  double operand(int part, long t, long d) const {
    const T* const x = a.operand<T>(packed ? 0 : part) + (packed ? part * features : 0);
    return static_cast<double>(x[(sample * (part ? keys : queries) + t) * pitch + head * width + d]);
  }
  /// Where in the result of AttentionGrad the gradient of operand(part, t, d) stands.
  long place(int part, long t, long d) const {
    if (packed) return (sample * queries + t) * pitch + part * features + head * width + d;
    const long first = part == 0 ? 0 : part == 1 ? queries : queries + keys;
    return (sample * (queries + 2 * keys) + first + t) * pitch + head * width + d;
  }
  /// Where a tensor with the shape of Attention's result has feature d of row i.
  long result_place(long i, long d) const { return (sample * queries + i) * features + head * width + d; }
  /// Keys that query i sees, and the weight of each.
  long seen(long i) const { return Call::config().causal ? i + 1 : keys; }
  std::vector<double> weights(long i) const {
    std::vector<double> score(std::size_t(seen(i)));
    for (std::size_t j = 0; j < score.size(); ++j)
      score[j] = scale * sum_of(width, [&](long d) { return operand(0, i, d) * operand(1, long(j), d); });
    const Exponentials of(seen(i), [&](long j) { return score[std::size_t(j)]; });
    for (double& s : score) s = of.share(s);
    return score;
  }
};
/// Calls f(head) for each head of each sample.
template <class Call, bool gradient, class F>
void for_each_head(const Arguments& a, F f) {
  using H = Head<Call, gradient>;
  for (long sample = 0; sample < H::samples(a.n); ++sample)
    for (long head = 0; head < H::heads; ++head) f(H{a, sample, head});
}
}  // namespace kernel::reference

template <>
struct Kernel<Reference, ops::Attention> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    kernel::reference::for_each_head<Call, false>(a, [&](const auto& head) {
      for (long i = 0; i < head.queries; ++i) {
        const std::vector<double> weight = head.weights(i);
        for (long d = 0; d < head.width; ++d)
          a.result<T>()[head.result_place(i, d)] = static_cast<T>(kernel::reference::sum_of(
              head.seen(i), [&](long j) { return weight[std::size_t(j)] * head.operand(2, j, d); }));
      }
    });
  }
};

/// With w the weights and g = dy vᵀ their gradient:  ds = w (g - sum of w g)
///   dq = scale ds k;  dk = scale dsᵀ q;  dv = wᵀ dy
template <>
struct Kernel<Reference, ops::AttentionGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    std::vector<double> gradient(std::size_t(Call::result.count(a.n)));
    kernel::reference::for_each_head<Call, true>(a, [&](const auto& head) {
      const auto to = [&](int part, long t, long d) -> double& {
        return gradient[std::size_t(head.place(part, t, d))];
      };
      for (long i = 0; i < head.queries; ++i) {
        const auto dy = [&](long d) {
          return static_cast<double>(a.operand<T>(Call::operands - 1)[head.result_place(i, d)]);
        };
        const std::vector<double> w = head.weights(i);
        std::vector<double> g(w.size());
        double sum = 0;
        for (std::size_t j = 0; j < w.size(); ++j) {
          g[j] = kernel::reference::sum_of(head.width, [&](long d) { return dy(d) * head.operand(2, long(j), d); });
          sum += w[j] * g[j];
        }
        for (long j = 0; j < head.seen(i); ++j)
          for (long d = 0; d < head.width; ++d) {
            const double weight = w[std::size_t(j)], slope = head.scale * weight * (g[std::size_t(j)] - sum);
            to(0, i, d) += slope * head.operand(1, j, d);
            to(1, j, d) += slope * head.operand(0, i, d);
            to(2, j, d) += weight * dy(d);
          }
      }
    });
    for (std::size_t i = 0; i < gradient.size(); ++i) a.result<T>()[i] = static_cast<T>(gradient[i]);
  }
};

}  // namespace tenon
TENON_EXACT_END
