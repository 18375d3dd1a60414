// expects: the rows of a stream come one after the other: shuffle, repeat, split, and samplers need rows in any order
// lines: g++ 11, clang 16, nvcc 12
#include <tenon/dataset/operations.hpp>

using namespace tenon::dataset;
using List = Columns<Column<int, tenon::Shape<>, "label">>;
struct Reader {
  bool next(std::span<int> label) { return label[0] = 2, true; }
};
int main() {
  const auto made = generator<List>(9, [](long, std::span<int>) {});
  const auto many =
      made | flat_map<"label">([](std::span<const int>) { return stream<List>([] { return Reader{}; }); });
}
