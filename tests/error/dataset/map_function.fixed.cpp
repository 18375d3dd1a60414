#include <tenon/dataset/dataset.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::map<0>([](float x) { return x + 1; });
}
