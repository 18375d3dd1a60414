#include <tenon/dataset/operations.hpp>

using namespace tenon::dataset;
using List = Columns<Column<int, tenon::Shape<>, "label">>;
int main() {
  const auto made = generator<List>(9, [](long, std::span<int>) {});
  const auto many =
      made | flat_map<"label">([](std::span<const int>) { return generator<List>(2, [](long, std::span<int>) {}); });
}
