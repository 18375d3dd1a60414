// The cure of infix.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<2, 3>>& a, const Tensor<float, Shape<2, 3>>& b) { return a + b; }
