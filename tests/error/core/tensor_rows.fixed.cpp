#include <tenon/core/tensor.hpp>

void f() { tenon::Tensor x{{1, 2}, {3, 4}}; }
