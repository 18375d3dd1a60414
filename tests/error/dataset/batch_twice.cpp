// expects: this data set is batched already: a second batch has no meaning; remove one of the two
// lines: g++ 9, clang 12, nvcc 18
#include <tenon/dataset/dataset.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::batch(4) | dataset::batch(8);
}
