// expects: Add of [2,3] and [2,2]: the shapes do not broadcast
// lines: clang 12
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<2, 3>>& a, const Tensor<float, Shape<2, 2>>& b) { return a + b; }
