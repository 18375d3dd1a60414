// expects: ReduceSum got the axis 2 twice for [n,3,4]; reduce_sum_keep and its like keep reduced axes
// lines: clang 12
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 3, 4>>& x) { return reduce_sum<2, -1>(x); }
