// expects: ReduceSum got the axis 3 for [n,3,4] of rank 3
// lines: clang 12
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 3, 4>>& x) { return reduce_sum<3>(x); }
