// expects: Sub of [n,1] and [n] would be [n,n]: only the leading extent can depend on n; give both the same rank, with
// expand_dims or squeeze
// lines: clang 12
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 1>>& prediction, const Tensor<float, Shape<dyn>>& target) {
  return prediction - target;
}
