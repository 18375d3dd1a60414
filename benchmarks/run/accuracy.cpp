// Errors of long float32 computations against float64, for benchmarks/accuracy.py: a line `error length data name` for
// each, of all rows or of those whose name contains the argument.
#include <cstdio>
#include <cstring>

#include "../../tests/support/accuracy_products.hpp"
#include "../../tests/support/accuracy_sums.hpp"

using namespace support::accuracy;

namespace {
void print(std::span<const Row> rows, const char* wanted) {
  for (const Row& row : rows)
    for (const Data data : {Data::constant, Data::random, Data::alternating, Data::offset})
      if (std::strstr(row.name, wanted)) {
        std::printf("%.9g %ld %s %s\n", row.error(data, row.length), row.length, data_name[int(data)], row.name);
        std::fflush(stdout);
      }
}
}  // namespace

int main(int count, char** argument) {
  const char* const wanted = count > 1 ? argument[1] : "";
  print(sums, wanted);
  print(products, wanted);
}
