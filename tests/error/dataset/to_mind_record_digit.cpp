// expects: in the index, where no name begins with a digit: data | dataset::rename<"1st", "_1st">()
#include <tenon/dataset/source/generator.hpp>
#include <tenon/graph/ir/traced.hpp>  // what stands for a mistake in nvcc's front end
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>
#else  // there is nothing to test
#error in the index, where no name begins with a digit: data | dataset::rename<"1st", "_1st">()
#endif

using namespace tenon::dataset;
using List = Columns<Column<int, tenon::Shape<>, "1st">>;
auto f() {
  return to_mind_record(generator<List>(9, [](long, auto number) { number[0] = 1; }), "train.mindrecord");
}
