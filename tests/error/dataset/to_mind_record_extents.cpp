// expects: to_mind_record: the samples of column "image" differ in 2 extents, a field of MindRecord may in one: bring
#include <tenon/dataset/source/generator.hpp>
#include <tenon/graph/ir/traced.hpp>  // what stands for a mistake in nvcc's front end
#if __has_include(<sqlite3.h>) && __has_include(<nlohmann/json.hpp>)
#include <tenon/dataset/to_mind_record.hpp>
#else  // there is nothing to test
#error to_mind_record: the samples of column "image" differ in 2 extents, a field of MindRecord may in one: bring
#endif

using namespace tenon::dataset;
using List = Columns<Column<std::uint8_t, Ragged<tenon::dataset::any, tenon::dataset::any, 3>, "image">>;
auto f() {
  return to_mind_record(generator<List>(9, [](long, auto image) { image.resize(2, 4, 3); }), "train.mindrecord");
}
