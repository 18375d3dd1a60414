// expects: map<I>: the data set has no column I; columns count from 0
// lines: g++ 9, clang 12, nvcc 18
#include <tenon/dataset/dataset.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::map<2>([](float x) { return x; });
}
