// The cure of transpose_order.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 3, 4>>& x) { return transpose<0, 2, 1>(x); }
