// expects: map<I>(f): f takes one element of the column and returns one
// lines: g++ 9, clang 12, nvcc 18
#include <tenon/dataset/dataset.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::map<0>([](float x, float y) { return x + y; });
}
