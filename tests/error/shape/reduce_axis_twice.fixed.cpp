// The cure of reduce_axis_twice.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 3, 4>>& x) { return reduce_sum_keep<2>(x); }
