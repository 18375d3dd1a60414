// expects: Transpose of [n,3,4] got the order (0,1), it needs each of the 3 axes once
// lines: clang 12
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 3, 4>>& x) { return transpose<0, 1>(x); }
