// expects: Slice of [n,3,4]: a part of the leading extent, which depends on n
// lines: clang 12
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 3, 4>>& x) { return slice<Part{0, 2}>(x); }
