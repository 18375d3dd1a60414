#include <tenon/core/tensor.hpp>

void f() { tenon::Tensor<float, tenon::Shape<2, 2>> x{{1, 2}, {3, 4}}; }
