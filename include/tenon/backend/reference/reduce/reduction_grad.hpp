// The derivatives of a mean and of a product.
#pragma once
#include <vector>

#include <tenon/backend/reference/index.hpp>
#include <tenon/backend/reference/rounded.hpp>

TENON_EXACT_BEGIN
namespace tenon::inline TENON_ABI {

namespace ops {
struct ReduceMeanGrad;
struct ReduceProdGrad;
}  // namespace ops

template <>
struct Kernel<Reference, ops::ReduceMeanGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    const double count = static_cast<double>(Call::result.count(a.n) / Call::operand(0).count(a.n));
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const auto index = kernel::reference::index_of(i, Call::result, a.n);
      const T dy = a.operand<T>(0)[kernel::reference::broadcast_place(index, Call::result, Call::operand(0), a.n)];
      a.result<T>()[i] = kernel::reference::rounded<T>(static_cast<double>(dy) / count);
    }
  }
};

template <>
struct Kernel<Reference, ops::ReduceProdGrad> : kernel::reference::Whole {
  template <class Call>
  static void run(const Arguments& a, long, long) {
    using T = typename Call::Result;
    std::vector<std::vector<long>> factors(std::size_t(Call::operand(1).count(a.n)));  // of each product
    for (long i = 0; i < Call::result.count(a.n); ++i) {
      const auto index = kernel::reference::index_of(i, Call::result, a.n);
      const long product = kernel::reference::broadcast_place(index, Call::result, Call::operand(1), a.n);
      factors[std::size_t(product)].push_back(i);
    }
    for (std::size_t k = 0; k < factors.size(); ++k)
      for (const long i : factors[k]) {
        double dx = static_cast<double>(a.operand<T>(1)[k]);
        for (const long other : factors[k])
          if (other != i) dx *= static_cast<double>(a.operand<T>(0)[other]);
        a.result<T>()[i] = kernel::reference::rounded<T>(dx);
      }
  }
};

}  // namespace tenon
TENON_EXACT_END
