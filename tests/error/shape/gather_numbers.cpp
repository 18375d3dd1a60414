// expects: Gather needs numbers of int32 or int64, got float32 [n,7]
// lines: clang 12
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<100, 16>>& table, const Tensor<float, Shape<dyn, 7>>& numbers) {
  return gather(table, numbers);
}
