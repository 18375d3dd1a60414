// An operator with two results, as a user writes it.
#pragma once
#include <tenon/tenon.hpp>

namespace mine {

using namespace tenon;

/// a + b and a - b, of [n, C].
struct SumDifference : Operator<SumDifference, "SumDifference"> {
  static constexpr bool per_sample = true;
  static constexpr int returns = 2;
  static constexpr ResultTypes shape(const OperandTypes& in, const NoConfig&, Sentence& error) {
    if (!(in[0] == in[1])) error << "SumDifference of " << in[0] << " and " << in[1] << ": they must be alike";
    return {in[0], in[0]};
  }
  static constexpr void derivative(Derivative& d) {
    const int sum = d.gradient(0), difference = d.gradient(1);
    d.flows_to(0, d.call<ops::Add>(sum, difference));
    d.flows_to(1, d.call<ops::Sub>(sum, difference));
  }
  template <class Call>
  static constexpr long items(long n) {
    return Call::result.count(n);
  }
  template <class Call>
  static void run(const Arguments& a, long begin, long end) {
    using T = typename Call::Result;
    for (long i = begin; i < end; ++i) {
      const T x = a.operand<T>(0)[i], y = a.operand<T>(1)[i];
      a.result<T>()[i] = x + y;
      if constexpr (has_result<Call, 1>) result_of<Call, 1>(a)[i] = x - y;
    }
  }
};
constexpr auto sum_difference(const ops::Operand auto& a, const ops::Operand auto& b,
                              std::source_location at = std::source_location::current()) {
  return apply<SumDifference>(at, a, b);
}

}  // namespace mine

#if defined(TENON_TARGET)
template <>
struct tenon::Kernel<tenon::OtherTarget, mine::SumDifference> : mine::SumDifference {};
#endif
