// expects: "id" and "ID" are one name in the index, which has all numbers: data | dataset::rename<"ID", "ID_2">()
#include <tenon/dataset/source/generator.hpp>
#include <tenon/graph/ir/traced.hpp>  // what stands for a mistake in nvcc's front end
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>
#else  // there is nothing to test
#error "id" and "ID" are one name in the index, which has all numbers: data | dataset::rename<"ID", "ID_2">()
#endif

using namespace tenon::dataset;
using List = Columns<Column<int, tenon::Shape<>, "id">, Column<float, tenon::Shape<>, "ID">>;
auto f() {
  return to_mind_record(generator<List>(9, [](long, auto, auto) {}), "train.mindrecord");
}
