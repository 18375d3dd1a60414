// The cure of broadcast_batch_select.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 1>>& x, const Tensor<float, Shape<dyn>>& other) {
  return select(x > 0, x, expand_dims<1>(other));
}
