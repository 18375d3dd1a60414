// expects: map<I, Column<...>>(f) works on one sample at a time: write it before batch
// lines: g++ 9, clang 12, nvcc 18
#include <tenon/dataset/dataset.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::batch(8) |
         dataset::map<0, dataset::Column<float, Shape<1>>>(
             [](std::span<const float> in, std::span<float> out) { out[0] = in[0]; });
}
