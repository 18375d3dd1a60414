#include <tenon/core/tensor.hpp>

void f() { auto x = tenon::Tensor(1.5, 2.5).to<int>(); }
