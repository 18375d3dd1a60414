// The smallest program of a consumer: it includes what a user includes, and runs.
#include <tenon/core/shape.hpp>

int main() {
  using Images = tenon::Shape<tenon::dyn, 1, 28, 28>;
  return Images::dims.count(2) == 2 * 28 * 28 ? 0 : 1;
}
