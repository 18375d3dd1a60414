// expects: network: MatMul got rows of 8 [n,8], its weight [2,4] needs 4
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const nn::Dense<4, 2>& fc, const Tensor<float, Shape<dyn, 8>>& rows) { return fc(rows); }
