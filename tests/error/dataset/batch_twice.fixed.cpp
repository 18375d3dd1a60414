#include <tenon/dataset/dataset.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::batch(8);
}
