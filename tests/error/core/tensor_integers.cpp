// expects: floating-point numbers cannot fill a tensor of integers: write integers, or convert with to<T>()
#include <tenon/core/tensor.hpp>

void f() { tenon::Tensor<int, tenon::Shape<2>> x(1.5, 2.5); }
