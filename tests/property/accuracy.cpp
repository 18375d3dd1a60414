// label: long
// Errors of long float32 computations: each within 4 times PyTorch's, whose were recorded by benchmarks/accuracy.py.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

#include "../support/accuracy_products.hpp"
#include "../support/accuracy_sums.hpp"
#include "../support/accuracy_torch.hpp"

using namespace support::accuracy;

namespace {
/// Half a unit in the last place of 1: what one rounding costs. No error is asked to be below 4 of these.
constexpr double half_unit = 1.0 / (1 << 24);

void check(std::span<const Row> rows) {
  for (const Row& row : rows) {
    const auto* const torch = std::ranges::find_if(torch_errors, [&](const TorchErrors& t) {
      return std::string_view(t.name) == row.name && t.length == row.length;
    });
    CAPTURE(row.name);
    CAPTURE(row.length);
    REQUIRE(torch != std::end(torch_errors));
    for (const Data data : {Data::constant, Data::random, Data::alternating, Data::offset}) {
      CAPTURE(data_name[int(data)]);
      CHECK(row.error(data, row.length) <= 4 * std::max(torch->error[int(data)], half_unit));
    }
  }
}
}  // namespace

TEST_CASE("long sums, means, statistics, norms, losses, gradients of biases") { check(sums); }
TEST_CASE("matrix products, convolutions") { check(products); }
