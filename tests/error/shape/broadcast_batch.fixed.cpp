// The cure of broadcast_batch.cpp.
#include <tenon/tenon.hpp>
using namespace tenon;

auto f(const Tensor<float, Shape<dyn, 1>>& prediction, const Tensor<float, Shape<dyn>>& target) {
  return squeeze<1>(prediction) - target;
}
