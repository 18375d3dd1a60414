#include <tenon/dataset/dataset.hpp>
#include <tenon/dataset/operation/split.hpp>

auto f(tenon::dataset::Digits digits) {
  using namespace tenon;
  const auto [train, valid] = split(digits, {0.8, 0.2});
  return std::pair(train | dataset::shuffle(1000), valid);
}
