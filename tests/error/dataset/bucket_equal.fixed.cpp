#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operations.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  return digits | dataset::batch(16);
}
