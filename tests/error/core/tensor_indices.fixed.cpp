#include <tenon/core/tensor.hpp>

int f(tenon::Tensor<int, tenon::Shape<2, 2>> x) { return x(1, 0); }
