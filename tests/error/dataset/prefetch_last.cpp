// expects: prefetch must be the last stage: it hands out rows in their final order; write it after all others
// lines: g++ 9, clang 12, nvcc 18
#include <tenon/dataset/dataset.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::prefetch() | dataset::batch(8);
}
