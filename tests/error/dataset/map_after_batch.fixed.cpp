#include <tenon/dataset/dataset.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits |
         dataset::map<0, dataset::Column<float, Shape<1>>>(
             [](std::span<const float> in, std::span<float> out) { out[0] = in[0]; }) |
         dataset::batch(8);
}
