// expects: Select of [n,1], [n,1], and [n]: the shapes do not broadcast
// lines: clang 12
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 1>>& x, const Tensor<float, Shape<dyn>>& other) {
  return select(x > 0, x, other);
}
