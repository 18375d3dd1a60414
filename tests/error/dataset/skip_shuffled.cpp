// expects: skip must come before shuffle and random samplers: after them, other rows are left out in each epoch
// lines: g++ 9, clang 12, nvcc 18
#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operation/skip.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  const auto mixed = digits | dataset::shuffle(1000);
  return std::pair(mixed | dataset::take(800), mixed | dataset::skip(800));
}
