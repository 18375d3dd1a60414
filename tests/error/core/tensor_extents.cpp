// expects: the nested list has other extents than the Shape of the tensor
// lines: clang 11
#include <tenon/core/tensor.hpp>

void f() { tenon::Tensor<float, tenon::Shape<2, 3>> x{{1, 2}, {3, 4}}; }
