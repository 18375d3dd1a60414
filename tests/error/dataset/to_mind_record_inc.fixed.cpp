#include <tenon/dataset/operation/rename.hpp>
#include <tenon/dataset/source/generator.hpp>
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>

using namespace tenon::dataset;
using List = Columns<Column<int, tenon::Shape<>, "Inc">>;
auto f() {
  const auto data = generator<List>(9, [](long, auto number) { number[0] = 1; });
  return to_mind_record(data | rename<"Inc", "Inc_2">(), "train.mindrecord");
}
#endif
