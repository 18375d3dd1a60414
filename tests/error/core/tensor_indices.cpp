// expects: x(i, j, ...) needs one index per axis
#include <tenon/core/tensor.hpp>

int f(tenon::Tensor<int, tenon::Shape<2, 2>> x) { return x(1); }
