// The cure of cell_on_tensor.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const nn::Dense<8, 2>& fc, const Tensor<float, Shape<dyn, 8>>& rows) { return fc(rows); }
