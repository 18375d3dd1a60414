#include <tenon/dataset/operation/rename.hpp>
#include <tenon/dataset/source/generator.hpp>
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>

using namespace tenon::dataset;
using List = Columns<Column<int, tenon::Shape<>, "1st">>;
auto f() {
  const auto data = generator<List>(9, [](long, auto number) { number[0] = 1; });
  return to_mind_record(data | rename<"1st", "_1st">(), "train.mindrecord");
}
#endif
