// expects: the index, which has a column "INC" of its own: data | dataset::rename<"Inc", "Inc_2">()
#include <tenon/dataset/source/generator.hpp>
#include <tenon/graph/ir/traced.hpp>  // what stands for a mistake in nvcc's front end
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>
#else  // there is nothing to test
#error the index, which has a column "INC" of its own: data | dataset::rename<"Inc", "Inc_2">()
#endif

using namespace tenon::dataset;
using List = Columns<Column<int, tenon::Shape<>, "Inc">>;
auto f() {
  return to_mind_record(generator<List>(9, [](long, auto number) { number[0] = 1; }), "train.mindrecord");
}
