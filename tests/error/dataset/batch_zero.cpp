// expects: batch<N>: the batch size must be 1 or more
// lines: nvcc 16
#include <tenon/dataset/dataset.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::batch<0>();
}
